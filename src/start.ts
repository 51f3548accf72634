#!/usr/bin/env node

/**
 * The first file of the program. It loads the others only if this version of Node.js has what they need. Otherwise the
 * libraries would fail in words of their own. So it imports nothing.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 19) || major === 21 || (major === 22 && minor < 12)) {
  process.stderr.write(
    `sonic2mqtt needs Node.js 20.19, 22.12 or newer. This is ${process.version}. Install a newer one from https://nodejs.org\n`,
  );
  process.exitCode = 2;
} else await import('./main.ts');
