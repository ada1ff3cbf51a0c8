/** VitePress' own look, with the statecharts drawn. */
import { useData, useRoute } from 'vitepress';
import vitepress from 'vitepress/theme';
import { nextTick, onMounted, watch } from 'vue';
import './wide.css';

export default {
  extends: vitepress,
  setup() {
    const route = useRoute();
    const { isDark } = useData();
    const draw = async () => {
      await nextTick();
      const nodes = document.querySelectorAll('pre.mermaid:not([data-processed])');
      if (nodes.length === 0) return;
      const { default: mermaid } = await import('mermaid');
      const theme = isDark.value ? 'dark' : 'neutral';
      // In its own size, to be scrolled: fitted to the page, a chart of sixty states could not be read.
      mermaid.initialize({ startOnLoad: false, theme, maxTextSize: 200_000, state: { useMaxWidth: false } });
      await mermaid.run({ nodes });
    };
    onMounted(draw);
    watch(() => route.path, draw);
  },
};
