/** VitePress' own look, with the statecharts drawn. */
import { useRoute } from 'vitepress';
import vitepress from 'vitepress/theme';
import { nextTick, onMounted, watch } from 'vue';
import { showCharts } from './charts.mjs';
import './wide.css';

export default {
  extends: vitepress,
  setup() {
    const route = useRoute();
    const draw = () => nextTick().then(showCharts);
    onMounted(draw);
    watch(() => route.path, draw);
  },
};
