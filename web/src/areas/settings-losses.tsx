import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { words } from '../text/settings'
import { Problem } from '../ui/basics'

const order = ['', 'viewer', 'member', 'admin', 'owner']
const above = (role: string, left: string) => order.indexOf(role) > order.indexOf(left)

/** Reads all pages of a list. */
async function every<T>(list: AsyncIterable<T>) {
  const all: T[] = []
  for await (const item of list) all.push(item)
  return all
}

/**
 * What a member loses with a role of which left is left (empty: none): service keys, which can be kept, and webhooks and
 * reply endpoints, which need another owner.
 */
export function Losses({ member, left, keep, onKeep }: {
  member: string
  left: string
  keep: boolean
  onKeep: (keep: boolean) => void
}) {
  const workspace = useWorkspace()
  const o = { workspace }
  const made = useQuery({
    queryKey: ['losses', workspace, member],
    queryFn: async () => {
      const [keys, hooks, connections] = await Promise.all([
        every(atrium.apiKeys.list({ limit: 100 }, o)), atrium.webhooks.list({}, o), atrium.connections.list({}, o),
      ])
      return {
        keys: keys.filter((k) => k.kind === 'service' && (k.kept_by ?? k.created_by) === member),
        endpoints: [
          ...hooks.data.filter((h) => h.created_by === member && !h.ownerless).map((h) => h.url),
          ...connections.data.filter((c) => c.created_by === member && !c.ownerless && c.status !== 'revoked'
            && (c.kind === 'reply_endpoint' || c.kind === 'openai_compatible')).map((c) => c.name),
        ],
      }
    },
  })
  const keys = made.data?.keys.filter((k) => above(k.role_ceiling, left)) ?? []
  const endpoints = above('admin', left) ? made.data?.endpoints ?? [] : []
  return (
    <>
      <Problem error={made.error} />
      {keys.length > 0 && (
        <>
          <p>{keep ? words.theseServiceKeysGoOn : words.theseServiceKeysEnd} <span className="font-medium">{keys.map((k) => k.name).join(', ')}</span></p>
          <label className="flex items-start gap-2">
            <input type="checkbox" checked={keep} onChange={(e) => onKeep(e.target.checked)} />
            <span>{words.keepServiceKeys}<span className="block text-xs text-soft">{words.theyMayKnowTheTokens}</span></span>
          </label>
        </>
      )}
      {endpoints.length > 0 && <p>{words.theseNeedAnOwner} <span className="font-medium break-all">{endpoints.join(', ')}</span></p>}
    </>
  )
}
