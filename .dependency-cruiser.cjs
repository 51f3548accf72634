// Which room may import which (docs: src/README.md).
const rooms = {
  base: [],
  model: [],
  texts: ['model'],
  config: ['base', 'model'],
  cloud: ['base', 'model'],
  entities: ['model', 'texts', 'cloud/operations.ts'],
  homeassistant: [
    'base',
    'model',
    'texts',
    'entities',
    'cloud/operations.ts',
    'cloud/catalogue.ts',
    'cloud/request.ts',
  ],
  broker: ['base'],
  simulator: ['base', 'model', 'cloud/operations.ts'],
  state: ['base', 'model'],
  store: ['base', 'model', 'state'],
  polling: ['base', 'model', 'cloud', 'store', 'state'],
  commands: ['base', 'model', 'cloud', 'store', 'state', 'polling', 'broker', 'homeassistant', 'entities'],
  publishing: [
    'base',
    'model',
    'cloud',
    'store',
    'state',
    'polling',
    'broker',
    'homeassistant',
    'entities',
    'health',
  ],
  health: [
    'base',
    'model',
    'entities/incidents.ts',
    'homeassistant/topics.ts',
    'cloud',
    'broker',
    'store',
    'state',
    'polling',
    'commands',
  ],
  webhook: ['base', 'polling'],
  http: [
    'base',
    'model',
    'texts',
    'entities/alerts.ts',
    'entities/headline.ts',
    'entities/headlineFacts.ts',
    'entities/incidents.ts',
    'health',
    'store',
    'webhook',
  ],
};

// Each npm package lives in the rooms named here and nowhere else.
const packages = {
  undici: ['cloud'],
  ws: ['cli'],
  zod: ['cli', 'cloud', 'config', 'state', 'simulator'],
  mqtt: ['broker'],
  aedes: ['broker'],
  yaml: ['config'],
  'node-cron': ['polling', 'config'],
  pino: ['base'],
  'sonic-boom': ['base'],
  commander: ['cli'],
};

const layering = Object.entries(rooms).map(([room, allowed]) => ({
  name: `${room}-imports`,
  comment: `src/${room} may import only: ${allowed.join(', ') || 'nothing'}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: {
    path: '^src/',
    pathNot: [
      `^src/${room}/`,
      ...allowed.map((each) => (each.endsWith('.ts') ? `^src/${each}$` : `^src/${each}/`)),
    ],
  },
}));

const homes = Object.entries(packages).map(([name, allowed]) => ({
  name: `${name}-lives-in-${allowed.join('-and-')}`,
  severity: 'error',
  from: { path: '^src/', pathNot: allowed.map((room) => `^src/${room}/`) },
  to: { path: `^node_modules/(@types/)?${name}/` },
}));

module.exports = {
  forbidden: [
    ...layering,
    ...homes,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'src-knows-no-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts)/' },
    },
    {
      name: 'only-main-imports-the-commands',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main\\.ts|cli/)' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'only-the-commands-import-the-daemon',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main\\.ts|cli/|daemon\\.ts)' },
      to: { path: '^src/daemon\\.ts$' },
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: {},
      // The texts of the status page are written by src/http/texts.ts when it is served.
      to: { couldNotResolve: true, pathNot: '^\\./texts\\.js$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
