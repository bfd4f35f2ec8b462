import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  plugins: [react(), tailwindcss()],
  resolve: {
    alias: { '@atrium-hq/client': new URL('../clients/typescript/src/index.ts', import.meta.url).pathname },
  },
  build: {
    outDir: 'dist',
    target: 'es2023',
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the policy allows no data: scripts and styles
    // Names without hashes, so that a change of one module changes one committed file. The server adds a hash of all.
    rollupOptions: {
      output: {
        entryFileNames: 'assets/[name].js',
        chunkFileNames: ({ moduleIds }) => moduleIds.every((id) => id.includes('/src/text/')) ? 'assets/text-[name].js' : 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
        codeSplitting: {
          groups: [{ name: 'editor', test: /node_modules.(@codemirror|@lezer|style-mod|w3c-keyname|crelt|@marijn)/ }],
        },
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
})
