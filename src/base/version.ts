import packageFile from '../../package.json' with { type: 'json' };

/** The version from package.json, which is the only place that has it. */
export const version = packageFile.version;

/** The project's home page; null if package.json has none. */
export const homepage = (packageFile as { readonly homepage?: string }).homepage ?? null;
