import { type Plan, type PlanList, type Subscription } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/billing'
import { Button, Heading, Loading, Pill, Problem } from '../ui/basics'
import { AddOns } from './billing-addons'
import { Methods } from './billing-cards'
import { Change, Subscribe } from './billing-change'
import { Details } from './billing-details'
import { Invoices } from './billing-invoices'
import { money } from './billing-money'
import { CreditPacks } from './billing-packs'
import { changeable, SubscriptionCard } from './billing-subscription'
import { Usage } from './billing-usage'

export function Billing() {
  const workspace = useWorkspace()
  const may = usePermission()
  const o = { workspace }
  const plans = useQuery({ queryKey: ['plans', workspace], queryFn: () => firstPage(atrium.payments.plans.list(o)) as Promise<PlanList> })
  const entitlements = useQuery({ queryKey: ['entitlements', workspace], queryFn: () => atrium.payments.entitlements.get(o) })
  const subscribed = !!entitlements.data?.status // else there is no subscription to get
  const current = useQuery({
    queryKey: ['subscription', workspace, subscribed], enabled: !!entitlements.data,
    queryFn: async () => (subscribed ? atrium.payments.subscription.get(o) : null),
  })
  const refresh = () => queries.invalidateQueries()
  const portal = useMutation({
    mutationFn: () => atrium.payments.portalSessions.create({ return_url: location.href }, o),
    onSuccess: (made) => location.assign(made.url),
  })
  const s = current.data
  const manages = may('payments.manage')
  if (plans.isPending || entitlements.isPending || current.isPending && current.isEnabled) return <Loading />
  return (
    <>
      <Heading title={t.billing}>
        {manages && s && <Button disabled={portal.isPending} onClick={() => portal.mutate()}>{words.manageCardsAndDetails}</Button>}
      </Heading>
      <Problem error={plans.error ?? entitlements.error ?? current.error ?? portal.error} />
      {s && <SubscriptionCard subscription={s} plans={plans.data?.data ?? []} manages={manages} onDone={refresh} />}
      {s && manages && changeable(s) && <AddOns addOns={plans.data?.add_ons ?? []} subscription={s} onDone={refresh} />}
      <h2 className="text-base font-semibold">{words.plans}</h2>
      <ul className="m-0 mb-6 grid list-none gap-3 p-0 sm:grid-cols-2 xl:grid-cols-3">
        {plans.data?.data.map((plan) => <PlanCard key={plan.id} plan={plan} manages={manages} subscription={s ?? null} onDone={refresh} />)}
      </ul>
      {manages && <CreditPacks packs={plans.data?.credit_packs ?? []} onDone={refresh} />}
      {entitlements.data && <Usage entitlements={entitlements.data} />}
      {manages && <Methods />}
      {manages && <Details />}
      {manages && <Invoices onDone={refresh} />}
    </>
  )
}

function PlanCard({ plan, manages, subscription, onDone }: {
  plan: Plan
  manages: boolean
  subscription: Subscription | null
  onDone: () => unknown
}) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const metered = plan.metered_price
  return (
    <li className="flex flex-col rounded-lg border border-line bg-card p-4">
      <p className="m-0 font-semibold">{plan.name} {plan.is_current && <Pill tone="ok">{words.yours}</Pill>}</p>
      <p className="m-0 text-lg">{money(plan.price)} <span className="text-sm text-soft">{words.per(plan.interval_count, plan.interval)}</span></p>
      {Object.entries(plan.limits_per_seat).map(([name, n]) => <p key={name} className="m-0 text-soft">{words.perSeat(n.toLocaleString(), name)}</p>)}
      {metered && <p className="m-0 text-soft">{words.andForEachOf(money(metered.unit_price), metered.feature)}</p>}
      <p className="m-0 text-soft">{plan.description}</p>
      <ul className="my-2 grow list-disc ps-5">{plan.features.map((f) => <li key={f}>{f}</li>)}</ul>
      {plan.trial_days > 0 && !subscription && <p className="m-0 text-soft">{words.daysFree(plan.trial_days)}</p>}
      {manages && !plan.is_current && plan.available && (!subscription || changeable(subscription)) && (
        <Button tone="act" className="mt-2" onClick={() => setOpen(true)}>{subscription ? words.changeToThisPlan : words.subscribeDialog}</Button>
      )}
      {open && (subscription ? <Change plan={plan} subscription={subscription} onClose={close} onDone={onDone} />
        : <Subscribe plan={plan} onClose={close} onDone={onDone} />)}
    </li>
  )
}
