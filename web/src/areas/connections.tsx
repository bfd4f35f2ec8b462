import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Connection, ProbeCheck } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useOwns, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/connections'
import { Button, Card, Empty, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { Confirm } from '../ui/overlays'
import { requestConsent } from './consent'
import { toast } from '../app/toast'
import { Steps } from '../ui/pictures'

const tones = { active: 'ok', failing: 'bad', revoked: 'plain' } as Record<string, 'ok' | 'bad' | 'plain'>

/** The steps of a probe, with how long each took. */
export function Checks({ checks }: { checks: ProbeCheck[] }) {
  const mark = { ok: '✓', failed: '✕', warning: '!', skipped: '–' } as Record<string, string>
  const tone = { failed: 'text-bad', warning: 'text-warn', skipped: 'text-soft' } as Record<string, string>
  return (
    <ol className="my-2 list-none p-0">
      {checks.map((c) => (
        <li key={c.step} className={tone[c.result] ?? ''}>
          <span aria-hidden="true" className="inline-block w-5">{mark[c.result]}</span>
          {c.step} <span className="text-xs">{c.result}{c.result !== 'skipped' && words.msMsMs(c.ms)}</span> {c.code && <code className="text-xs">{c.code}</code>}
        </li>
      ))}
    </ol>
  )
}

export function Connections() {
  const workspace = useWorkspace()
  const may = usePermission()
  const list = useQuery({
    queryKey: ['connections', workspace, 'all'], queryFn: () => firstPage(atrium.connections.list({ limit: 100 }, { workspace })),
  })
  const all = list.data?.data ?? []
  const kinds = [...list.data?.kinds ?? []].sort((a, b) => a.title.localeCompare(b.title))
  const titles = new Map(kinds.map((k) => [k.kind, k.title]))
  const services = kinds.flatMap((k) => k.presets.map((p) => ({ ...p, kind: k }))).sort((a, b) => a.title.localeCompare(b.title))
  return (
    <>
      <Heading title={t.connections} />
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && all.length === 0 && (
        <Empty title={words.thereAreNoConnections}>
          {words.aConnectionIsA}
        </Empty>
      )}
      {all.map((c) => <One key={c.id} connection={c} title={titles.get(c.kind) ?? c.kind} mayChange={may('connections.create')} />)}
      {may('connections.create') && list.data && (
        <Card title={words.connectAWarehouse}>
          <ul className="m-0 flex list-none flex-wrap gap-2 p-0">
            {kinds.map((k) => (
              <li key={k.kind}>
                <Link
                  className="block rounded-md border border-line bg-page px-4 py-2 text-ink no-underline hover:bg-hover"
                  to={`/w/${workspace}/connections/new/${k.kind}` as string}
                >
                  {k.title}
                </Link>
              </li>
            ))}
          </ul>
          <p className="mb-2">{words.orByService}</p>
          <ul className="m-0 flex list-none flex-wrap gap-x-4 gap-y-1 p-0">
            {services.map((p) => (
              <li key={p.kind.kind + p.id}>
                <Link to={`/w/${workspace}/connections/new/${p.kind.kind}` as string} search={{ service: p.id } as never}>
                  {services.filter((s) => s.id === p.id).length > 1 ? `${p.title} (${p.kind.title})` : p.title}
                </Link>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  )
}

function One({ connection: c, title, mayChange }: { connection: Connection; title: string; mayChange: boolean }) {
  const workspace = useWorkspace()
  const owns = useOwns()
  const refresh = () => queries.invalidateQueries({ queryKey: ['connections'] })
  const verify = useMutation({ mutationFn: () => atrium.connections.verify(c.id, undefined, { workspace }), onSettled: refresh })
  const account = c.config['google_account'] as string | undefined // of a person who gave consent
  const consent = useMutation({ mutationFn: () => requestConsent({ workspace, kind: c.kind, connection: c.id }) })
  return (
    <Card
      title={<>{c.name} <Pill tone={tones[c.status] ?? 'plain'}>{c.status}</Pill> {c.ownerless && <Pill tone="warn">{words.noOwner}</Pill>}</>}
      actions={mayChange && c.status !== 'revoked' && (
        <>
          {account && owns(c.created_by, 'admin') && (
            <Button disabled={consent.isPending} onClick={() => consent.mutate()}>{words.connectAgain}</Button>
          )}
          <Button disabled={verify.isPending} onClick={() => verify.mutate()}>{verify.isPending ? words.verifyingDialog : words.verify}</Button>
          {c.ownerless && owns(null, 'admin') && (
            <Confirm
              label={words.confirm} title={words.ownName(c.name)} act={words.confirm} tone="act" body={words.youBecomeItsOwner}
              run={() => atrium.connections.confirm(c.id, { workspace }).then(refresh)}
            />
          )}
          {owns(c.created_by, 'admin') && (
            <Confirm
              label={t.revoke} title={words.revokeNameName(c.name)} act={t.revoke}
              body={[
                c.sources.length > 0
                  ? words.theCredentialIsErased(c.sources.map((s) => s.name).join(', '))
                  : words.theCredentialIsErasedNo,
                ...(c.chat_templates.length > 0 ? [words.chatsReplyNoMore(c.chat_templates.map((x) => x.name).join(', '))] : []),
              ].join(' ')}
              run={async () => {
                const { consent_withdrawn: withdrawn } = await atrium.connections.revoke(c.id, { workspace })
                if (withdrawn === false) toast(words.consentNotEnded)
                await refresh()
              }}
            />
          )}
        </>
      )}
    >
      <p className="m-0 text-soft">
        {words.verifiedKindKindProduct(title, c.server.product, c.server.version)} <When at={c.last_verified_at} />
        {account && <> {words.asPerson(account)}</>}
        {c.sources.length > 0 && <> · {c.sources.length} {c.sources.length === 1 ? words.source : words.sources}</>}
        {c.chat_templates.length > 0 && (
          <> · {words.repliesIn} {c.chat_templates.map((x, i) => <span key={x.id}>{i > 0 && ', '}<Link to={`/w/${workspace}/chats/${x.id}` as string}>{x.name}</Link></span>)}</>
        )}
        {c.consecutive_failures > 0 && <span className="text-bad"> {words.failedConsecutiveFailuresConsecutive(c.consecutive_failures)} {c.consecutive_failures === 1 ? words.time : words.times} {words.inARow}</span>}
      </p>
      {c.checks.length > 0 && (
        <div className="mt-2">
          <Steps label={words.lastCheck(c.checks.map((x) => `${x.step} ${x.result}`).join(', '))} steps={c.checks} />
        </div>
      )}
      {c.ownerless && <p className="m-0 mt-2 text-warn">{words.itsOwnerLostThe}</p>}
      {c.server.can_write && c.status !== 'revoked' && <p className="m-0 mt-2 text-warn">{words.thisRoleCanWrite}</p>}
      {c.failure && <p role="alert" className="m-0 mt-2 text-bad">{c.failure.code}: {c.failure.hint}</p>}
      <Problem error={verify.error ?? consent.error} />
      <details className="mt-2">
        <summary className="cursor-default text-act">{words.lastCheckTitle}</summary>
        <Checks checks={c.checks} />
      </details>
    </Card>
  )
}
