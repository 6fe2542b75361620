/** The wire formats of requests and answers: OpenAI's two, and Anthropic's Messages. */
export type Protocol = 'chat' | 'responses' | 'messages';
