/** What Home Assistant makes of a text with the filter `regex_replace` of a template; throws if it has none. */
export function escapedBy(template: string, text: string): string {
  const [, find, replacement] = /regex_replace\('(.*?)', '(.*?)'\)/.exec(template) ?? [];
  if (find === undefined || replacement === undefined) throw new Error(`no filter in ${template}`);
  return text.replaceAll(new RegExp(jinjaText(find), 'g'), (found) =>
    jinjaText(replacement).replaceAll(/\\(\d|\\)/g, (_, what) => (what === '\\' ? what : found)),
  );
}

/** The text of a string in Jinja. */
const jinjaText = (source: string): string =>
  source.replaceAll(/\\(?:x([\da-f]{2})|(.))/g, (_, code, other) =>
    code === undefined ? other : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** A link, an image, HTML and code in a name, and what Markdown then has to be. */
export const hostileName = {
  text: 'Bad [x](https://e.com) ![i](//e) <img> &lt; `c` *b* _i_ \\ | ~s~ é “q”',
  escaped:
    'Bad \\[x\\]\\(https\\:\\/\\/e\\.com\\) \\!\\[i\\]\\(\\/\\/e\\) \\<img\\> \\&lt\\; \\`c\\` \\*b\\* \\_i\\_ \\\\ \\| \\~s\\~ é “q”',
};
