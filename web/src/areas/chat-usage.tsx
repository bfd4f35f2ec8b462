import type { EmbedToken, EmbedTokenUsage } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { Loading, Problem } from '../ui/basics'
import { Dialog } from '../ui/overlays'
import { Bars } from '../ui/pictures'
import { Table } from '../ui/table'
import { words } from '../text/chats'

const kinds = ['sessions', 'messages', 'refusals'] as const

/** One bar for each day of the range, also for days without a call. */
function bars(usage: EmbedTokenUsage, kind: (typeof kinds)[number]) {
  const days = new Map<string, number>()
  for (let at = Date.parse(usage.from); at <= Date.parse(usage.to); at += 86_400_000) days.set(new Date(at).toISOString().slice(0, 10), 0)
  for (const u of usage.data) days.set(u.date, (days.get(u.date) ?? 0) + u[kind])
  return [...days].map(([day, value]) => ({ key: day, value, title: `${day}: ${value} ${kind}`, bad: kind === 'refusals' && value > 0 }))
}

/** How often the sites of a token used it in the last thirty days. */
export function Usage({ chat, token, onClose }: { chat: string; token: EmbedToken; onClose: () => void }) {
  const workspace = useWorkspace()
  const usage = useQuery({
    queryKey: ['embed usage', token.id], queryFn: () => atrium.chatTemplates.embedTokens.getUsage(chat, token.id, {}, { workspace }),
  })
  const origins = new Map<string, { origin: string; sessions: number; messages: number; refusals: number }>()
  for (const u of usage.data?.data ?? []) {
    const origin = u.origin ?? words.withoutAnOrigin
    const sum = origins.get(origin) ?? { origin, sessions: 0, messages: 0, refusals: 0 }
    for (const kind of kinds) sum[kind] += u[kind]
    origins.set(origin, sum)
  }
  return (
    <Dialog open wide onClose={onClose} title={words.usageOf(token.name)}>
      <Problem error={usage.error} />
      {usage.isPending && <Loading />}
      {usage.data && (
        <>
          <div className="grid gap-4 sm:grid-cols-3">
            {kinds.map((kind) => (
              <section key={kind}>
                <h3 className="m-0 text-sm font-medium capitalize">{kind} <b>{usage.data[kind]}</b></h3>
                <Bars label={words.byDay(kind)} bars={bars(usage.data, kind)} />
              </section>
            ))}
          </div>
          <p className="text-soft">{words.toDaysInUtc(usage.data.from, usage.data.to)}</p>
          {usage.data.failures > 0 && (
            <h3 className="m-0 mb-1 text-sm font-medium">{words.repliesThatFailed(usage.data.failures)}</h3>
          )}
          {usage.data.failures > 0 && (
            <Table
              label={words.repliesThatFailed(usage.data.failures)} items={usage.data.failures_by_code} id={(f) => f.date + f.code}
              columns={[
                { title: words.day, narrow: true, cell: (f) => f.date }, { title: words.cause, cell: (f) => <code>{f.code}</code> },
                { title: words.failed, narrow: true, cell: (f) => f.failures },
              ]}
            />
          )}
          {origins.size > 0 && (
            <Table
              label={words.byOrigin} items={[...origins.values()]} id={(o) => o.origin}
              columns={[{ title: words.origin, cell: (o) => o.origin }, ...kinds.map((kind) => ({ title: kind, narrow: true, cell: (o: { [k in typeof kind]: number }) => o[kind] }))]}
            />
          )}
        </>
      )}
    </Dialog>
  )
}
