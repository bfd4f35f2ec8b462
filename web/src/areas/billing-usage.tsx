import { type Entitlements } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { Card, When } from '../ui/basics'
import { t } from '../text'
import { words } from '../text/billing'
import { Bars } from '../ui/pictures'

/** A name as the server writes it, as people do: chat_templates is Chat templates. */
const named = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replace(/_bytes$/, '').replaceAll('_', ' ')

/** An amount of what a name counts. Bytes are in MiB: limits are. */
const amount = (name: string, n: number) =>
  name.endsWith('_bytes') ? `${(n / 2 ** 20).toLocaleString(undefined, { maximumFractionDigits: 1 })} MiB` : n.toLocaleString()

/** What the workspace may use, and what it uses. */
export function Usage({ entitlements: e }: { entitlements: Entitlements }) {
  const limits = Object.entries(e.limits).sort(([a], [b]) => a.localeCompare(b))
  if (limits.length === 0) return null
  return (
    <Card title={t.usage}>
      <ul className="m-0 grid list-none gap-x-6 gap-y-3 p-0 sm:grid-cols-2 xl:grid-cols-3">
        {limits.map(([name, l]) => (
          <li key={name}>
            <p className="m-0 flex justify-between gap-2">
              <span>{named(name)}</span>
              <span className={l.limit !== null && l.used >= l.limit ? 'text-bad' : 'text-soft'}>
                {amount(name, l.used)}{l.limit !== null && words.ofAmountAmount(amount(name, l.limit))}
              </span>
            </p>
            {l.limit !== null && <meter aria-label={named(name)} className="w-full" max={Math.max(l.limit, 1)} high={l.limit * 0.9} value={l.used} />}
            {l.credit_packs.map((p) => (
              <p key={p.invoice_id} className="m-0 text-xs text-soft">
                {words.leftOfAPack(amount(name, p.remaining))}{p.expires_at && <>{words.expiresAt} <When at={p.expires_at} /></>}
              </p>
            ))}
            {l.counted_by === 'application' && l.used > 0 && <Days feature={name} />}
          </li>
        ))}
      </ul>
      {limits.some(([, l]) => l.counted_by === 'application') && (
        <p className="m-0 mt-3 text-xs text-soft">{words.whatYourApplicationCounts} <When at={e.period_end} />.</p>
      )}
    </Card>
  )
}

/** What the workspace has used of a feature on each of the last thirty days. */
function Days({ feature }: { feature: string }) {
  const workspace = useWorkspace()
  const history = useQuery({
    queryKey: ['usage', workspace, feature], queryFn: () => atrium.payments.usage.get({ feature }, { workspace }),
  })
  if (!history.data) return null
  const days = new Map<string, number>()
  for (let at = Date.parse(history.data.from); at <= Date.parse(history.data.to); at += 86_400_000) days.set(new Date(at).toISOString().slice(0, 10), 0)
  for (const d of history.data.data) days.set(d.date, d.used)
  return <Bars label={words.byDay(named(feature))} bars={[...days].map(([day, used]) => ({ key: day, value: used, title: `${day}: ${amount(feature, used)}` }))} />
}
