import type { ChatTemplate, EmbedToken, EmbedTokenCreated } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, Card, Copy, fieldErrors, Pill, Problem, Secret, When } from '../ui/basics'
import { Form, Input, Select, TextArea } from '../ui/form'
import { Confirm, Tabs } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { Draft } from './chat-look'
import { Usage } from './chat-usage'

/** The host of the first of some origins, as the name of the token for them. */
const hostOf = (origins = '') => origins.trim().split(/\s+/)[0]!.replace(/^https?:\/\//, '').slice(0, 80)

/** The sites that show a chat, what they need for it, and how it looks there. Managers of the chat may see this. */
export function Embed({ chat }: { chat: ChatTemplate }) {
  const { id } = chat
  const workspace = useWorkspace()
  const o = { workspace }
  const [made, setMade] = useState<EmbedTokenCreated>()
  const [used, setUsed] = useState<EmbedToken>()
  const list = useList(['embed', id], (cursor) => atrium.chatTemplates.embedTokens.list(id, { limit: 50, ...(cursor && { cursor }) }, o))
  const refresh = () => queries.invalidateQueries({ queryKey: ['embed', id] })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.embedTokens.create(id, {
      name: v.name || hostOf(v.origins), allowed_origins: (v.origins ?? '').split(/\s+/).filter(Boolean),
      require_signed_visitors: v.visitors === 'signed',
    }, o),
    onSuccess: (token) => { setMade(token); return refresh() },
  })
  const wrong = fieldErrors(create.error)
  return (
    <>
      <Problem error={list.error} />
      {list.items.length > 0 && (
        <Table
          label={words.embedTokens} items={list.items} id={(x) => x.id}
          columns={[
            { title: t.name, cell: (x) => <>{x.name} <code className="text-xs text-soft">{x.hint}</code> {x.require_signed_visitors && <Pill tone="plain">{words.signedVisitorsOnly}</Pill>}</> },
            { title: words.origins, cell: (x) => x.allowed_origins.join(', ') },
            { title: t.status, narrow: true, cell: (x) => <Pill tone={x.status === 'active' ? 'ok' : 'plain'}>{x.status}</Pill> },
            { title: t.used, narrow: true, cell: (x) => <><When at={x.last_used_at} /> {x.last_used_origin}</> },
            {
              title: t.actions, narrow: true,
              cell: (x) => (
                <>
                  <Button tone="quiet" onClick={() => setUsed(x)}>{t.usage}</Button>
                  <Confirm
                    label={x.require_signed_visitors ? words.allowAll : words.requireSigned} tone="act" act={t.save}
                    title={x.require_signed_visitors ? words.allVisitorsMayUse(x.name) : words.onlySignedMayUse(x.name)}
                    body={x.require_signed_visitors ? words.theSitesSuffice : words.unsignedSessionsEnd}
                    run={() => atrium.chatTemplates.embedTokens.update(
                      id, x.id, { require_signed_visitors: !x.require_signed_visitors }, o,
                    ).then(refresh)}
                  />
                  <Confirm
                    label={t.rotate} title={words.rotateNameName(x.name)} act={t.rotate} tone="act"
                    body={words.youGetANew}
                    run={async () => {
                      setMade(await atrium.chatTemplates.embedTokens.rotate(id, x.id, { grace_seconds: 86_400 }, o))
                      await refresh()
                    }}
                  />
                  <Confirm
                    label={t.delete} title={words.deleteNameName(x.name)} act={t.delete} body={words.sitesThatUseIt}
                    run={() => atrium.chatTemplates.embedTokens.delete(id, x.id, o).then(refresh)}
                  />
                </>
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      {used && <Usage chat={id} token={used} onClose={() => setUsed(undefined)} />}
      {made && <div className="mt-4"><Shown token={made} /></div>}
      <div className="mt-4 grid items-start gap-4 lg:grid-cols-2">
        <Card title={words.newEmbedToken}>
          <Form key={made?.id} send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
            <Input name="name" label={t.name} maxLength={80} hint={words.nameOfToken} error={wrong.name} />
            <TextArea name="origins" label={words.sitesThatMayShow} required rows={3} placeholder={words.exampleOrigin} hint={words.oneOriginInEach} error={wrong.allowed_origins} />
            <Select
              name="visitors" label={words.whoMayUseIt} hint={words.theySignWithTheSecret}
              choices={[{ value: 'all', label: words.allVisitors }, { value: 'signed', label: words.onlySignedVisitors }]}
            />
            <Problem error={create.error} />
          </Form>
        </Card>
        <Card title={words.theDraftAsVisitors}><Draft chat={chat} /></Card>
      </div>
    </>
  )
}

const snippets = [['script', words.script], ['module', words.module], ['frame', words.frame], ['react', words.react]] as const

/** What a site and its backend need. The secrets are shown once. */
function Shown({ token }: { token: EmbedTokenCreated }) {
  const [kind, setKind] = useState<keyof EmbedTokenCreated['snippets']>('script')
  const signing = `import { signVisitor } from '@atrium-hq/client'

const signature = await signVisitor(process.env.VISITOR_SECRET, 'customer-42')
// in the page: data-visitor="customer-42" data-visitor-signature="\${signature}"`
  return (
    <>
      <Card title={words.putThisIntoYour} actions={<Copy text={token.snippets[kind]} />}>
        <Secret value={token.token} hint={words.theTokenIsShown} />
        <Tabs
          value={kind} onChange={(next) => setKind(next as typeof kind)}
          tabs={snippets.map(([id, label]) => ({
            id, label, body: <pre tabIndex={0} className="mb-0 overflow-x-auto text-xs">{token.snippets[id]}</pre>,
          }))}
        />
      </Card>
      <Card title={words.sayWhoTheVisitor}>
        <Secret value={token.visitor_secret} hint={words.yourServerSignsVisitors} />
        <pre tabIndex={0} className="mb-0 overflow-x-auto text-xs">{signing}</pre>
      </Card>
    </>
  )
}
