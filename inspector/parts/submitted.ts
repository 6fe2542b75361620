/** What a form does itself when it is sent. */
export function submitted(work: () => void): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    work();
  };
}
