import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { AtriumError } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { keyOf } from '../person'
import { words } from '../text/connections'
import { Button, Card, Heading, Loading, Problem } from '../ui/basics'

/** What a person's consent is for: a new connection, or one whose credential it replaces. */
interface Purpose { workspace: string; kind: string; name?: string; connection?: string }

const KEPT = keyOf('consent', 'purpose')

/** Sends the browser to the service at which a person gives consent. It comes back to Consent. */
export async function requestConsent(purpose: Purpose) {
  const asked = await atrium.connections.requestConsent({ kind: purpose.kind }, { workspace: purpose.workspace })
  const to = new URL(asked.authorization_url)
  sessionStorage.setItem(KEPT, JSON.stringify({ ...purpose, state: to.searchParams.get('state') }))
  location.assign(to)
}

/** Takes what the service has sent, and removes it from the address and from the history. */
function take() {
  const query = new URLSearchParams(location.search)
  history.replaceState(history.state, '', location.pathname)
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Purpose & { state: string } | null
  sessionStorage.removeItem(KEPT)
  const state = query.get('state') ?? ''
  return { purpose: kept?.state === state ? kept : null, state, code: query.get('code') ?? '' }
}

let taken: ReturnType<typeof take> | undefined

/** Returns what the service has sent. A page is loaded for each consent. */
const brought = () => (taken ??= take())

/** Where the service sends the browser back to: it creates or verifies the connection. */
export function Consent() {
  const navigate = useNavigate()
  const [{ purpose, state, code }] = useState(brought)
  const connections = () => void navigate({ to: (purpose ? `/w/${purpose.workspace}/connections` : '/') as string })
  const complete = useMutation({
    mutationFn: (given: Purpose) => (given.connection
      ? atrium.connections.verify(given.connection, { consent: { state, code } }, { workspace: given.workspace })
      : atrium.connections.create(
        { kind: given.kind, ...(given.name && { name: given.name }), consent: { state, code } }, {}, { workspace: given.workspace },
      )),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['connections'] })
      connections()
    },
  })
  const begun = useRef(false)
  useEffect(() => {
    if (begun.current || !purpose || !code) return
    begun.current = true
    complete.mutate(purpose)
  })
  const failure = AtriumError.is(complete.error) ? (complete.error.problem as { failure?: { hint: string } }).failure : undefined
  return (
    <main className="mx-auto max-w-xl p-4">
      <Heading title={words.yourConsent} />
      {purpose && code && !complete.error ? <Loading /> : (
        <Card>
          {!code ? <p role="alert" className="mt-0">{words.youDidNotConsent}</p> : !purpose && <p role="alert" className="mt-0">{words.startedElsewhere}</p>}
          <Problem error={complete.error} />
          {failure && <p className="text-bad">{failure.hint}</p>}
          <span className="flex gap-2">
            {purpose && (
              <Button tone="act" onClick={() => void requestConsent(purpose)}>{words.connectWithGoogle}</Button>
            )}
            <Button onClick={connections}>{words.backToTheConsole}</Button>
          </span>
        </Card>
      )}
    </main>
  )
}
