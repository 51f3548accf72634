// What is imported as the text that it is, and pictures as data URLs.
declare module '*?raw' {
  const text: string;
  export default text;
}

declare module '*?inline' {
  const url: string;
  export default url;
}
