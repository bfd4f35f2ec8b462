import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { atrium, queries, signInAgain } from '../api'
import { t } from '../text'
import { Button, Problem } from '../ui/basics'
import { stepUp } from './confirmed'
import { useMutation } from './mutation'
import { firstPage, useWorkspace } from './workspace'

/** Says what the organisation requires of a session that has shown no second factor, and how the person can do it. */
export function SecondFactor() {
  const workspace = useWorkspace()
  const [cancelled, setCancelled] = useState(false)
  const passkeys = useQuery({ queryKey: ['passkeys', 'some'], queryFn: () => firstPage(atrium.me.passkeys.list({ limit: 1 })) })
  const confirm = useMutation({
    mutationFn: async () => {
      const done = await stepUp()
      setCancelled(!done)
      if (done) await queries.invalidateQueries()
    },
  })
  const has = passkeys.data && passkeys.data.data.length > 0
  return (
    <section data-second-factor className="mb-6 max-w-xl rounded-md border border-warn bg-warnbg px-4 py-3">
      <h1 className="mt-0 text-lg font-semibold">{t.confirmYourself}</h1>
      <p>{t.confirmYourselfAbout}</p>
      {passkeys.data && !has && <p>{t.addPasskeyAbout}</p>}
      {cancelled && <p role="alert" className="text-bad">{t.noPasskeyHere}</p>}
      <Problem error={confirm.error} />
      <div className="flex flex-wrap items-center gap-3">
        {has && <Button tone="act" disabled={confirm.isPending} onClick={() => confirm.mutate()}>{t.confirmWithPasskey}</Button>}
        {passkeys.data && !has && <Link to={`/w/${workspace}/settings/passkeys` as string}>{t.addPasskeyToConfirm}</Link>}
        <Button onClick={signInAgain}>{t.signInAgain}</Button>
      </div>
    </section>
  )
}
