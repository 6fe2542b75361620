/** The bundler collects style sheets into one file. */
declare module '*.css';
