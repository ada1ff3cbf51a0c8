/** What the page takes from packages; every other module takes it from here. */
import htm from 'htm';
import { type ComponentChildren, h, render, type VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/** Components are written as tagged templates: no build step, no second language. */
type Html = (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
// Its types describe another form of the package than the one that browsers get.
export const html: Html = (htm as unknown as { bind(to: typeof h): Html }).bind(h);

export type { ComponentChildren, VNode };
export { render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };
