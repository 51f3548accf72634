// Files that are imported as text, and images as data URLs.
declare module '*?raw' {
  const text: string;
  export default text;
}

declare module '*?inline' {
  const url: string;
  export default url;
}
