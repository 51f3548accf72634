import packageFile from '../../package.json' with { type: 'json' };

/** The version in package.json, the only place that states it. */
export const version = packageFile.version;

/** The project's page; null while package.json names none. */
export const homepage = (packageFile as { readonly homepage?: string }).homepage ?? null;
