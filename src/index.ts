/** The Worker's entry. */
import { createApp } from './app.ts';

export default createApp();
