#!/bin/sh
# Make three.min.js anew: the parts of three.js that viewer.js uses, in one file. Needs Node.js and the npm registry.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true, "type": "module", "dependencies": {"three": "0.187.0", "esbuild": "0.28.2"}}' > package.json
npm install --no-audit --no-fund --silent
cp "$here/three-entry.js" entry.js
npx esbuild entry.js --bundle --minify --format=iife --global-name=THREE --legal-comments=inline \
  --outfile="$here/three.min.js"
cp node_modules/three/LICENSE "$here/three-LICENSE"
