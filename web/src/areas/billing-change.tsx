import { type Plan, type Subscription } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { Button, fieldErrors, Loading, Problem, When } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { words } from '../text/billing'
import { money } from './billing-money'

/** What is bought: how many, and a code for a discount. */
interface Wish { quantity: number; promotion_code?: string }

function wish(values: Record<string, string>): Wish {
  const code = values.promotion_code?.trim()
  return { quantity: Number(values.quantity), ...(code && { promotion_code: code }) }
}

function WishFields({ quantity, error }: { quantity: number; error: unknown }) {
  const wrong = fieldErrors(error)
  return (
    <>
      <Input name="quantity" label={words.quantity} type="number" min={1} max={10000} required defaultValue={quantity} error={wrong.quantity} />
      <Input name="promotion_code" label={words.promotionCode} maxLength={255} autoComplete="off" error={wrong.promotion_code} />
    </>
  )
}

/** Subscribes, with the card of the workspace or on a page of the payment provider. */
export function Subscribe({ plan, onClose, onDone }: { plan: Plan; onClose: () => void; onDone: () => unknown }) {
  const workspace = useWorkspace()
  const subscribe = useMutation({
    mutationFn: (w: Wish) => atrium.payments.subscription.create({ plan_id: plan.id, ...w }, { workspace }),
    onSuccess: async () => {
      await onDone()
      onClose()
    },
  })
  const checkout = useMutation({
    mutationFn: () => atrium.payments.checkoutSessions.create(
      { plan_id: plan.id, success_url: location.href, cancel_url: location.href }, { workspace }),
    onSuccess: (made) => location.assign(made.url),
  })
  const busy = subscribe.isPending || checkout.isPending
  return (
    <Dialog open onClose={onClose} title={words.subscribeTo(plan.name)}>
      <Form
        send={words.subscribe} busy={busy} onSend={(values) => subscribe.mutate(wish(values))}
        more={<Button disabled={busy} onClick={() => checkout.mutate()}>{words.payOnTheProviders}</Button>}
      >
        <p className="m-0 mb-3">
          {plan.trial_days > 0 && <>{words.ifTheWorkspaceHas(plan.trial_days)} </>}
          {words.subscribeChargesTheDefault}
        </p>
        <WishFields quantity={1} error={subscribe.error} />
        <Problem error={subscribe.error ?? checkout.error} />
      </Form>
    </Dialog>
  )
}

/** Asks what a change would cost, and makes it at that price only. */
export function Change({ plan, subscription, onClose, onDone }: {
  plan: Plan
  subscription: Subscription
  onClose: () => void
  onDone: () => unknown
}) {
  const [wanted, setWanted] = useState<Wish>()
  const same = plan.id === subscription.plan_id
  return (
    <Dialog open onClose={onClose} title={same ? words.changeNameName(plan.name) : words.changeTo(plan.name)}>
      {wanted === undefined ? (
        <Form send={words.showWhatItCosts} onSend={(values) => setWanted(wish(values))}>
          <WishFields quantity={subscription.quantity || 1} error={undefined} />
        </Form>
      ) : (
        <Cost
          bought={`${wanted.quantity} × ${plan.name}`} body={{ plan_id: plan.id, ...wanted }} act={words.changeThePlan}
          onBack={() => setWanted(undefined)} onClose={onClose} onDone={onDone}
        />
      )}
    </Dialog>
  )
}

/** What a change of the subscription costs. It is made at that price only. */
export function Cost({ bought, body, act, onBack, onClose, onDone }: {
  bought: string
  body: Parameters<typeof atrium.payments.subscription.preview>[0]
  act: string
  onBack: () => void
  onClose: () => void
  onDone: () => unknown
}) {
  const workspace = useWorkspace()
  const cost = useQuery({
    queryKey: ['change', workspace, body], gcTime: 0, retry: false,
    queryFn: () => atrium.payments.subscription.preview(body, { workspace }),
  })
  const change = useMutation({
    mutationFn: (preview: string) => atrium.payments.subscription.update({ ...body, preview }, { workspace }),
    onSuccess: async () => {
      await onDone()
      onClose()
    },
  })
  const c = cost.data
  return (
    <>
      {cost.isPending && <Loading />}
      <Problem error={cost.error ?? change.error} />
      {c && (
        <dl className="m-0 mb-4 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt>{words.bought}</dt><dd className="m-0">{bought}{c.at_renewal && words.fromTheNextPeriod}</dd>
          <dt>{words.today}</dt><dd className="m-0 font-semibold">{money(c.due_today)}</dd>
          <dt>{words.nextInvoice}</dt><dd className="m-0">{money(c.due_next)} <When at={c.due_next_at} /></dd>
          {c.credit.amount > 0 && <><dt>{words.credit}</dt><dd className="m-0">{words.deductedFromTheNext(money(c.credit))}</dd></>}
        </dl>
      )}
      <div className="flex gap-2">
        {c && <Button tone="act" disabled={change.isPending} onClick={() => change.mutate(c.signature)}>{act}</Button>}
        <Button onClick={onBack}>{words.back}</Button>
      </div>
    </>
  )
}
