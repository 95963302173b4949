/** Addresses of files that come from the window, not from this process. Pure. */

/** In a remote window the Explorer gives what is dragged an address of the remote's, which is a file to its own extensions. */
export function fileAddress(address: string, isRemote: boolean): string {
  return isRemote ? address.replace(/^vscode-remote:\/\/[^/]+\//, "file:///") : address;
}
