// bundle.mjs - charts.js and what it needs as one script, for the page to carry.
import { build } from 'esbuild';

await build({
  entryPoints: ['charts.js'],
  outfile: 'charts.min.js',
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii', // so that the page may be read in any encoding
  legalComments: 'eof', // the licences of Vega and its parts stay
  banner: { js: '/* Charts by Vega, Vega-Lite and Vega-Embed (BSD 3-Clause, University of Washington Interactive Data Lab). */' },
});
