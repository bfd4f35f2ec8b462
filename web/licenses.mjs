// Writes the licences of everything that the built console holds. They are distributed with it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const allowed = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'Unlicense']
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
let out = 'The console holds these packages of npm.\n'
for (const [path, info] of Object.entries(lock.packages)) {
  if (path === '' || info.dev || info.devOptional || (info.optional && !existsSync(path))) continue
  if (!existsSync(path)) throw new Error(`${path} is not installed`)
  if (!allowed.includes(info.license)) throw new Error(`${path} is under ${info.license}, which is not allowed`)
  const file = readdirSync(path).find((name) => /^(licen[cs]e|copying)/i.test(name))
  out += `\n${'-'.repeat(80)}\n${path.replace(/^.*node_modules\//, '')} ${info.version} (${info.license})\n\n`
  out += file ? readFileSync(`${path}/${file}`, 'utf8').trim() + '\n' : 'It has no text of its licence.\n'
}
writeFileSync('dist/licenses.txt', out)
