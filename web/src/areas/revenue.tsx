import { type AdjustmentKind, type Money, type PaymentOverview, type WorkspaceSubscription } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useShown } from '../app/shown'
import { toast } from '../app/toast'
import { useList } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/revenue'
import { Button, Card, Empty, fieldErrors, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { Form, InlineSelect, Input, Select, TextArea } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { money } from './billing-money'

const statuses = ['active', 'trialing', 'past_due', 'unpaid', 'paused', 'incomplete', 'canceled'] as const
const named = (status: string) => (status === 'canceled' ? words.ended : status.replace('_', ' '))
const choices = [{ value: '', label: words.allLive }, ...statuses.map((value) => ({ value, label: named(value) }))]

function tone(s: WorkspaceSubscription) {
  if (s.status === 'canceled') return 'plain'
  if (!s.entitled) return 'bad'
  return s.status === 'past_due' ? 'warn' : 'ok'
}

/** What the subscriptions of all workspaces bring, for operators of the organisation. */
export function Revenue() {
  const [status, setStatus] = useShown('status')
  const [gift, setGift] = useState<{ id?: string; name?: string }>()
  const overview = useQuery({ queryKey: ['revenue'], queryFn: () => atrium.payments.overview.get() })
  const list = useList(['revenue', status], (cursor) => atrium.payments.subscriptions.list(
    { limit: 50, ...(status && { status: status as typeof statuses[number] }), ...(cursor && { cursor }) },
  ))
  return (
    <>
      <Heading title={t.revenue}>
        <Button onClick={() => setGift({})}>{words.giveToWorkspace}</Button>
      </Heading>
      <Problem error={overview.error} />
      {overview.isPending && <Loading />}
      {overview.data && <Sums overview={overview.data} />}
      <div className="mb-3"><InlineSelect label={t.status} value={status} choices={choices} onChange={(e) => setStatus(e.target.value)} /></div>
      {!overview.error && <Problem error={list.error} />}
      {list.isSuccess && list.items.length === 0 && <Empty title={words.noneMatches} />}
      {list.items.length > 0 && (
        <Table
          label={words.live} items={list.items} id={(s) => s.id} csv="subscriptions"
          columns={[
            { title: words.workspace, text: (s) => s.workspace_name, cell: (s) => <><span className="font-medium">{s.workspace_name}</span><p className="m-0 text-xs text-soft">{s.workspace_id}</p></> },
            { title: words.plan, text: (s) => `${s.quantity} × ${s.plan_id ?? ''}`, cell: (s) => <>{s.quantity > 1 && `${s.quantity} × `}{s.plan_id ?? words.unknown}</> },
            { title: t.status, narrow: true, text: (s) => s.status, cell: (s) => <Pill tone={tone(s)}>{named(s.status)}</Pill> },
            { title: words.perMonth, narrow: true, text: (s) => amount(s.monthly_revenue), cell: (s) => amount(s.monthly_revenue) },
            { title: words.due, narrow: true, text: (s) => amount(s.amount_due), cell: (s) => (s.amount_due?.amount ? <span className="text-bad">{amount(s.amount_due)}</span> : '') },
            { title: words.ends, narrow: true, text: (s) => end(s) ?? '', cell: (s) => end(s) && <When at={end(s)} /> },
            { title: t.actions, narrow: true, cell: (s) => s.status !== 'canceled' && <Button tone="quiet" onClick={() => setGift({ id: s.workspace_id, name: s.workspace_name })}>{words.giveDialog}</Button> },
          ]}
        />
      )}
      <More list={list} />
      {gift && <Give {...gift} onClose={() => setGift(undefined)} />}
    </>
  )
}

const amount = (m: Money | null) => (m ? money(m) : '')
const sum = (all: Money[]) => all.map(money).join(', ') || words.nothing

/** When a subscription or its trial ends, or has ended. */
const end = (s: WorkspaceSubscription) => s.ended_at ?? s.ends_at ?? (s.status === 'trialing' ? s.trial_end : null)

function Sums({ overview: o }: { overview: PaymentOverview }) {
  const { rate, ended, subscriptions: all } = o.churn
  const figures = [
    { name: words.monthly, value: sum(o.mrr) },
    { name: words.live, value: statuses.filter((s) => o.subscriptions[s]).map((s) => `${o.subscriptions[s]} ${named(s)}`).join(', ') || words.nothing },
    { name: words.overdue, value: o.past_due.subscriptions ? words.overdueAmount(o.past_due.subscriptions, sum(o.past_due.amount)) : words.nothing },
    { name: words.trialsEnding, value: o.trials_ending || words.nothing },
    { name: words.churn, value: rate === null ? words.nothing : words.churned(ended, all, rate.toLocaleString(undefined, { style: 'percent', maximumFractionDigits: 1 })) },
  ]
  return (
    <Card>
      <dl className="m-0 grid gap-x-6 gap-y-3 sm:grid-cols-2 xl:grid-cols-3">
        {figures.map(({ name, value }) => (
          <div key={name}><dt className="text-soft">{name}</dt><dd className="m-0 text-lg">{value}</dd></div>
        ))}
      </dl>
    </Card>
  )
}

const kinds: { value: AdjustmentKind; label: string }[] = [
  { value: 'credit', label: words.credit }, { value: 'comp', label: words.free }, { value: 'trial_extension', label: words.longerTrial },
]

/** Gives something to a workspace. */
function Give({ id, name, onClose }: { id?: string; name?: string; onClose: () => void }) {
  const [kind, setKind] = useState<AdjustmentKind>('credit')
  const give = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.payments.adjustments.create({
      workspace_id: id ?? v.workspace_id?.trim() ?? '', kind, reason: v.reason ?? '',
      ...(v.amount && { amount: Number(v.amount) }), ...(v.currency && { currency: v.currency.trim().toLowerCase() }),
      ...(v.plan_id && { plan_id: v.plan_id.trim() }), ...(v.months && { months: Number(v.months) }),
      ...(v.days && { days: Number(v.days) }),
    }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['revenue'] })
      toast(words.given)
      onClose()
    },
  })
  const wrong = fieldErrors(give.error)
  return (
    <Dialog open onClose={onClose} title={name ? words.giveTo(name) : words.giveToAWorkspace}>
      <Form send={words.give} busy={give.isPending} onSend={(values) => give.mutate(values)}>
        {!id && <Input name="workspace_id" label={words.workspaceId} required maxLength={64} error={wrong.workspace_id} />}
        <Select label={words.what} value={kind} choices={kinds} onChange={(e) => setKind(e.target.value as AdjustmentKind)} />
        {kind === 'credit' && (
          <>
            <Input name="amount" label={words.amount} hint={words.amountIn} type="number" min={1} max={99999999} required error={wrong.amount} />
            <Input name="currency" label={words.currency} placeholder={words.currencySuch} required minLength={3} maxLength={3} error={wrong.currency} />
          </>
        )}
        {kind === 'comp' && (
          <>
            <Input name="plan_id" label={words.planOf} hint={words.planWithout} maxLength={64} error={wrong.plan_id} />
            <Input name="months" label={words.months} hint={words.monthsEmpty} type="number" min={1} max={36} error={wrong.months} />
          </>
        )}
        {kind === 'trial_extension' && <Input name="days" label={words.days} type="number" min={1} max={730} required error={wrong.days} />}
        <TextArea name="reason" label={words.reason} hint={words.reasonShown} required maxLength={500} rows={2} error={wrong.reason} />
        <Problem error={give.error} />
      </Form>
    </Dialog>
  )
}
