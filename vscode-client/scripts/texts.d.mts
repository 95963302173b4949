export function texts(source: string): { texts: string[]; others: string[] };
