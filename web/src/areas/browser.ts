import { words } from '../text/settings'

/** The browser and system of a User-Agent header, as people say it. */
export function browserOf(agent: string): string {
  const browser = [[words.firefox, /Firefox\//], [words.edge, /Edg\//], [words.opera, /OPR\//], [words.chrome, /Chrom(e|ium)\/|CriOS/], [words.safari, /Safari\//]] as const
  const system = [[words.android, /Android/], ['iOS', /iPhone|iPad/], [words.windows, /Windows/], ['macOS', /Mac OS X/], [words.linux, /Linux/]] as const
  const found = [browser, system].map((names) => names.find(([, is]) => is.test(agent))?.[0])
  return found[0] ? found.filter(Boolean).join(' on ') : agent || 'unknown'
}
