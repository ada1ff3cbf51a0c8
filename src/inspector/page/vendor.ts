/** The page's imports from packages; all other modules import them from here. */
import htm from 'htm';
import { type ComponentChildren, h, render, type VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/** Components are tagged templates: no build step, no second language. */
type Html = (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
// The package's types describe another form than the one for browsers.
export const html: Html = (htm as unknown as { bind(to: typeof h): Html }).bind(h);

export type { ComponentChildren, VNode };
export { render, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };
