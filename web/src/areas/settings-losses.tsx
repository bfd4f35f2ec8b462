import type { HeldRole } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useRoles, useWorkspace } from '../app/workspace'
import { words } from '../text/settings'
import { Problem } from '../ui/basics'
import { sourceText } from './access'

const order = ['', 'viewer', 'member', 'admin', 'owner']
const above = (role: string, left: string) => order.indexOf(role) > order.indexOf(left)

/** What a member has and has made in the workspace. */
interface Made {
  keys: { name: string; kind: string; role_ceiling: string }[]
  endpoints: string[]
  shares: string[]
  sources: HeldRole[]
}

/** Reads all pages of a list. */
async function every<T>(list: AsyncIterable<T>) {
  const all: T[] = []
  for await (const item of list) all.push(item)
  return all
}

/** What an owner sees of a member. */
async function asOwner(workspace: string, member: string): Promise<Made> {
  const { workspace: w } = await atrium.workspaces.members.access.get(workspace, member)
  return {
    keys: w.api_keys, endpoints: [...w.webhooks, ...w.reply_endpoints].map((e) => e.name), shares: w.shares.map((s) => s.name), sources: w.sources,
  }
}

/** What an admin sees of a member: keys and endpoints. */
async function asAdmin(workspace: string, member: string): Promise<Made> {
  const o = { workspace }
  const [keys, hooks, connections] = await Promise.all([
    every(atrium.apiKeys.list({ limit: 100 }, o)), atrium.webhooks.list({}, o), atrium.connections.list({}, o),
  ])
  return {
    keys: keys.filter((k) => (k.kind === 'service' ? k.kept_by ?? k.created_by : k.user_id) === member),
    endpoints: [
      ...hooks.data.filter((h) => h.created_by === member && !h.ownerless).map((h) => h.url),
      ...connections.data.filter((c) => c.created_by === member && !c.ownerless && c.status !== 'revoked'
        && (c.kind === 'reply_endpoint' || c.kind === 'openai_compatible')).map((c) => c.name),
    ],
    shares: [], sources: [],
  }
}

/**
 * What ends and what stays when a member loses a role of which left is left (empty: none): service keys, which can be
 * kept, webhooks and reply endpoints, which need another owner, and what only owners see.
 */
export function Losses({ member, left, keep, onKeep }: {
  member: string
  left: string
  keep: boolean
  onKeep: (keep: boolean) => void
}) {
  const workspace = useWorkspace()
  const load = useRoles().includes('owner') ? asOwner : asAdmin
  const made = useQuery({ queryKey: ['losses', workspace, member, load.name], queryFn: () => load(workspace, member) })
  const all = made.data
  const keys = all?.keys.filter((k) => k.kind === 'service' && above(k.role_ceiling, left)) ?? []
  const lower = all?.keys.filter((k) => k.kind === 'service' && !above(k.role_ceiling, left)) ?? []
  const own = all?.keys.filter((k) => k.kind !== 'service') ?? []
  const others = all?.sources.filter((s) => s.kind !== 'direct' && above(s.role ?? '', left) && (left !== '' || s.kind !== 'group')) ?? []
  return (
    <>
      <Problem error={made.error} />
      {keys.length > 0 && (
        <>
          <p>{keep ? words.theseServiceKeysGoOn : words.theseServiceKeysEnd} <Names of={keys.map((k) => k.name)} /></p>
          <label className="flex items-start gap-2">
            <input type="checkbox" checked={keep} onChange={(e) => onKeep(e.target.checked)} />
            <span>{words.keepServiceKeys}<span className="block text-xs text-soft">{words.theyMayKnowTheTokens}</span></span>
          </label>
        </>
      )}
      {all && above('admin', left) && <Listed title={words.theseNeedAnOwner} names={all.endpoints} />}
      <Listed title={left ? words.theirKeysStay : words.theirKeysEnd} names={own.map((k) => k.name)} />
      <Listed title={words.theseServiceKeysStay} names={lower.map((k) => k.name)} />
      <Listed title={left ? words.theirSharesStay : words.theirSharesEnd} names={all?.shares ?? []} />
      <Listed title={left ? words.theRoleAlsoComes : words.theRoleComesBack} names={others.map(sourceText)} />
    </>
  )
}

function Listed({ title, names }: { title: string; names: string[] }) {
  return names.length > 0 && <p>{title} <Names of={names} /></p>
}

function Names({ of }: { of: string[] }) {
  return <span className="font-medium break-words">{of.join(', ')}</span>
}
