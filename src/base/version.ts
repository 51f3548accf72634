import packageFile from '../../package.json' with { type: 'json' };

/** The version in package.json, the only place that states it. */
export const version = packageFile.version;
