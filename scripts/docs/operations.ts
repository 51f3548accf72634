import { operationNames, operationRow } from '../../src/cloud/operations.ts';
import { code, generatedNote, table } from './markdown.ts';

const provenances = {
  document: 'interface document',
  public: 'published',
  assumed: 'assumed',
} as const;

/** docs/operations.md */
export function operationsPage(): string {
  const rows = operationNames.map((name) => {
    const { number, method, path, provenance, retry, control, session } = operationRow(name);
    return [
      code(name),
      number === null ? '' : String(number),
      code(`${method} ${path}`),
      provenances[provenance],
      retry === 'safe' ? 'yes' : 'no',
      session ? 'the session' : control === undefined ? 'nothing' : code(`control.${control}`),
    ];
  });
  return [
    generatedNote,
    '# Operations of the cloud',
    `What the bridge knows of the cloud. The names are those that \`cloud.routes\` in the
[configuration](configuration.md#cloud) takes, where a cloud differs: another route for a name, or \`null\` to do without.
\`bridge/info\` says of each whether it is \`available\`, \`unavailable\` (the cloud has no such route) or \`off\`.`,
    `- **No.** is the number in the cloud's interface document.
- **Known from** says who has shown the route: the interface document, the vendor's or a library's own publications, or
  nobody (assumed).
- **Repeated** says whether a request is sent again after a failure. What changes something is not, unless the cloud
  plainly did not act on it: the connection was refused, or the answer was 401 or 429.
- **Changes** names the option that must be on before MQTT may ask for it.`,
    table(['Operation', 'No.', 'Route', 'Known from', 'Repeated', 'Changes'], rows),
  ].join('\n\n');
}
