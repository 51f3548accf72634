// What is imported as the text that it is.
declare module '*?raw' {
  const text: string;
  export default text;
}
