import { AtriumError, type PaymentMethodList, type SetupIntent, type Subscription } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useCreating, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/billing'
import { Button, Card, Loading, Pill, Problem } from '../ui/basics'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'

/** The cards of the workspace, for those who manage its payments. */
export function Methods() {
  const workspace = useWorkspace()
  const o = { workspace }
  const [adding, setAdding] = useCreating()
  const back = 'added' in useSearch({ strict: false }) // from the page with Stripe's form: its event can take a moment
  const list = useQuery({
    queryKey: ['methods', workspace], refetchInterval: back ? 3000 : false,
    queryFn: () => firstPage(atrium.payments.methods.list({}, o)) as Promise<PaymentMethodList>,
  })
  const refresh = () => queries.invalidateQueries({ queryKey: ['methods', workspace] })
  const prefer = useMutation({ mutationFn: (id: string) => atrium.payments.methods.setDefault(id, o), onSuccess: refresh })
  const form = new URL('card', document.baseURI)
  form.searchParams.set('workspace', workspace)
  const stripe = list.data?.gateway === 'stripe'
  const add = () => (stripe ? location.assign(form) : setAdding(true))
  return (
    <>
      {list.data?.gateway === 'sandbox' && <p className="mt-0 mb-4 rounded-md bg-warnbg px-3 py-2 text-warn">{t.sandbox}</p>}
      <Card
        title={t.methods}
        actions={list.data && <Button onClick={add}><AddIcon size={16} aria-hidden="true" />{t.addMethod}</Button>}
      >
        <Problem error={list.error ?? prefer.error} />
        {list.isPending && <Loading />}
        {back && <p role="status" className="m-0 mb-2 text-soft">{t.methodComing}</p>}
        {list.data?.data.length === 0 && !back && <p className="m-0 text-soft">{t.noMethods}</p>}
        <ul className="m-0 list-none p-0">
          {list.data?.data.map((m) => (
            <li key={m.id} className="flex flex-wrap items-center gap-2 border-b border-line py-2 last:border-0">
              <span className="me-auto flex flex-wrap items-center gap-2">
                <span className="font-medium capitalize">{m.brand ?? m.type}</span> {m.last4 && <bdi dir="ltr">•••• {m.last4}</bdi>}
                {m.exp_month && <span className="text-soft">{String(m.exp_month).padStart(2, '0')}/{m.exp_year}</span>}
                {m.is_default && <Pill tone="ok">{t.default}</Pill>} {m.is_expired && <Pill tone="bad">{t.expired}</Pill>}
              </span>
              {!m.is_default && <Button tone="quiet" onClick={() => prefer.mutate(m.id)}>{t.makeDefault}</Button>}
              <Confirm
                label={t.remove} title={t.removeMethod} act={t.remove} body={`${m.brand ?? m.type} •••• ${m.last4 ?? ''}`}
                run={() => atrium.payments.methods.delete(m.id, {}, o).then(refresh)}
              />
            </li>
          ))}
        </ul>
        {adding && list.data && !stripe && <TestCards onClose={() => setAdding(false)} />}
      </Card>
    </>
  )
}

/** What the bank of the payer wants before a subscription begins. The pages of Stripe ask themselves. */
export function Confirmation({ subscription: s, onDone }: { subscription: Subscription; onDone: () => unknown }) {
  const workspace = useWorkspace()
  const secret = s.action?.client_secret ?? ''
  const answer = useMutation({
    mutationFn: (success: boolean) => atrium.payments.sandbox.authenticate(
      secret.split('_secret_')[0]!, { client_secret: secret, success }, { workspace },
    ),
    onSettled: onDone,
  })
  if (s.action?.type === 'confirm_setup') { // of a trial, which wants a payment method before it ends
    return s.default_payment_method_id ? null : <p role="alert" className="mt-0 text-warn">{words.addAMethodBefore}</p>
  }
  return (
    <div role="alert" className="mb-3 rounded-md bg-warnbg px-3 py-2 text-warn">
      <p className="m-0">{s.gateway === 'sandbox' ? t.bankAsks : t.bankAsksInvoice}</p>
      {s.gateway === 'sandbox' && (
        <div className="mt-2 flex flex-wrap gap-2">
          <Button tone="act" disabled={answer.isPending} onClick={() => answer.mutate(true)}>{t.bankYes}</Button>
          <Button disabled={answer.isPending} onClick={() => answer.mutate(false)}>{t.bankNo}</Button>
        </div>
      )}
      <Problem error={answer.error} />
    </div>
  )
}

/** The published test cards of the sandbox. No other number can be entered, so that no real card ever is. */
const testCards = [
  { number: '4242 4242 4242 4242', brand: words.visa, does: t.cardWorks },
  { number: '5555 5555 5555 4444', brand: words.mastercard, does: t.cardWorks },
  { number: '4000 0025 0000 3155', brand: words.visa, does: t.cardAsksBank },
  { number: '4000 0000 0000 0341', brand: words.visa, does: t.cardFailsLater },
  { number: '4000 0000 0000 0002', brand: words.visa, does: t.cardDeclined },
  { number: '4000 0000 0000 9995', brand: words.visa, does: t.cardNoFunds },
]

// A card that was declined leaves its intent open for the next one: few can be open at a time.
const open = new Map<string, SetupIntent>()

function TestCards({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace()
  const o = { workspace }
  const [asked, setAsked] = useState<SetupIntent>()
  const settle = (i: SetupIntent) => {
    if (i.status === 'requires_action') return setAsked(i)
    if (i.status !== 'succeeded') return undefined
    open.delete(workspace)
    onClose()
    return queries.invalidateQueries({ queryKey: ['methods', workspace] })
  }
  const add = useMutation({
    mutationFn: async (number: string) => {
      const intent = open.get(workspace) ?? await atrium.payments.setupIntents.create({}, o)
      open.set(workspace, intent)
      const card = { number, exp_month: 12, exp_year: new Date().getFullYear() + 3, cvc: '123' }
      try {
        return { ...await atrium.payments.sandbox.confirm(intent.id, { client_secret: intent.client_secret, card }, o), client_secret: intent.client_secret }
      } catch (e) {
        if (AtriumError.is(e, 'intent_not_found') || AtriumError.is(e, 'intent_state')) open.delete(workspace)
        throw e
      }
    },
    onSuccess: settle,
  })
  const answer = useMutation({
    mutationFn: (success: boolean) => atrium.payments.sandbox.authenticate(asked!.id, { client_secret: asked!.client_secret, success }, o),
    onSuccess: settle,
    onSettled: () => setAsked(undefined),
  })
  return (
    <Dialog open onClose={onClose} title={t.addTestCard}>
      <p className="mt-0 rounded-md bg-warnbg px-3 py-2 text-warn">{t.noMoneyMoves}</p>
      {asked
        ? (
          <>
            <p>{t.bankAsks}</p>
            <div className="flex flex-wrap gap-2">
              <Button tone="act" disabled={answer.isPending} onClick={() => answer.mutate(true)}>{t.bankYes}</Button>
              <Button disabled={answer.isPending} onClick={() => answer.mutate(false)}>{t.bankNo}</Button>
            </div>
          </>
        )
        : (
          <ul className="m-0 grid list-none gap-2 p-0">
            {testCards.map((c) => (
              <li key={c.number}>
                <button
                  type="button" disabled={add.isPending} onClick={() => add.mutate(c.number)} data-card={c.number.slice(-4)}
                  className="flex w-full cursor-pointer flex-wrap items-center gap-x-3 rounded-md border border-line bg-card px-3 py-2 text-start text-ink
                    shadow-xs hover:bg-hover disabled:cursor-default disabled:opacity-50"
                >
                  <span className="w-24 font-medium">{c.brand}</span>
                  <bdi dir="ltr" className="tabular-nums">•••• {c.number.slice(-4)}</bdi>
                  <span className="ms-auto text-soft">{c.does}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      <Problem error={add.error ?? answer.error} />
      {answer.data && answer.data.status !== 'succeeded' && <p role="alert" className="mb-0 text-bad">{t.bankRefused}</p>}
    </Dialog>
  )
}
