import type { ChatTemplate, EmbedTokenCreated } from '@atrium-hq/client'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { atrium, base, queries } from '../api'
import { useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { Button, Card, Copy, fieldErrors, Pill, Problem, Secret, When } from '../ui/basics'
import { Form, Input, TextArea } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'

/** The sites that show a chat, what they need for it, and how it looks there. Managers of the chat may see this. */
export function Embed({ chat }: { chat: ChatTemplate }) {
  const { id } = chat
  const workspace = useWorkspace()
  const o = { workspace }
  const [made, setMade] = useState<EmbedTokenCreated>()
  const list = useList(['embed', id], (cursor) => atrium.chatTemplates.embedTokens.list(id, { limit: 50, ...(cursor && { cursor }) }, o))
  const refresh = () => queries.invalidateQueries({ queryKey: ['embed', id] })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.embedTokens.create(id, {
      name: v.name ?? '', allowed_origins: (v.origins ?? '').split(/\s+/).filter(Boolean),
    }, o),
    onSuccess: (token) => { setMade(token); return refresh() },
  })
  const wrong = fieldErrors(create.error)
  return (
    <>
      <Problem error={list.error} />
      {list.items.length > 0 && (
        <Table
          label="Embed tokens" items={list.items} id={(x) => x.id}
          columns={[
            { title: 'Name', cell: (x) => <>{x.name} <code className="text-xs text-soft">{x.hint}</code></> },
            { title: 'Origins', cell: (x) => x.allowed_origins.join(', ') },
            { title: 'Status', narrow: true, cell: (x) => <Pill tone={x.status === 'active' ? 'ok' : 'plain'}>{x.status}</Pill> },
            { title: 'Used', narrow: true, cell: (x) => <><When at={x.last_used_at} /> {x.last_used_origin}</> },
            {
              title: t.actions, narrow: true,
              cell: (x) => (
                <>
                  <Confirm
                    label="Rotate" title={`Rotate ${x.name}`} act="Rotate" tone="act"
                    body="You get a new token and a new secret for signing visitors. Those before work for another day."
                    run={async () => {
                      setMade(await atrium.chatTemplates.embedTokens.rotate(id, x.id, { grace_seconds: 86_400 }, o))
                      await refresh()
                    }}
                  />
                  <Confirm
                    label="Delete" title={`Delete ${x.name}`} act="Delete" body="Sites that use it no longer show the chat, at once."
                    run={() => atrium.chatTemplates.embedTokens.delete(id, x.id, o).then(refresh)}
                  />
                </>
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      {made && <Shown token={made} />}
      <div className="mt-4 grid items-start gap-4 lg:grid-cols-2">
        <Card title="New embed token">
          <Form key={made?.id} send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
            <Input name="name" label="Name" required maxLength={80} error={wrong.name} />
            <TextArea name="origins" label="Sites that may show the chat" required rows={3} placeholder="https://www.example.com" hint="One origin in each line." error={wrong.allowed_origins} />
            <Problem error={create.error} />
          </Form>
        </Card>
        <Look chat={chat} />
      </div>
    </>
  )
}

/** What a site and its backend need. The secrets are shown once. */
function Shown({ token }: { token: EmbedTokenCreated }) {
  const script = new URL('embed.js', base).href
  const snippet = `<script src="${script}" data-token="${token.token}" async></script>`
  const signing = `import { signVisitor } from '@atrium-hq/client'

const signature = await signVisitor(process.env.VISITOR_SECRET, 'customer-42')
// in the page: data-visitor="customer-42" data-visitor-signature="\${signature}"`
  return (
    <>
      <Card title="Put this into your site" actions={<Copy text={snippet} />}>
        <Secret value={token.token} hint="The token is shown only now. It is public, and works from its origins only." />
        <pre tabIndex={0} className="mb-0 overflow-x-auto text-xs">{snippet}</pre>
      </Card>
      <Card title="Say who the visitor is">
        <Secret value={token.visitor_secret} hint="Your server signs visitors with this secret. It is shown only now, and must never be in a page." />
        <pre tabIndex={0} className="mb-0 overflow-x-auto text-xs">{signing}</pre>
      </Card>
    </>
  )
}

/** Whether a page of the console can be among the sites that show a chat: those have https, or are localhost. */
const framable = location.protocol === 'https:' || location.hostname === 'localhost'

/** The chat as its visitors see it, by a token for this console that is deleted again, or ends after an hour. */
function Look({ chat }: { chat: ChatTemplate }) {
  const workspace = useWorkspace()
  const [token, setToken] = useState<EmbedTokenCreated>()
  const open = useMutation({
    mutationFn: () => atrium.chatTemplates.embedTokens.create(chat.id, {
      name: 'Preview in the console', allowed_origins: [location.origin], expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    }, { workspace }),
    onSuccess: setToken,
  })
  useEffect(() => {
    if (!token) return
    return () => void atrium.chatTemplates.embedTokens.delete(chat.id, token.id, { workspace }).catch(() => {})
  }, [token, chat.id, workspace])
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  const local = new URL(location.href)
  local.hostname = 'localhost'
  return (
    <Card title="Preview" actions={token && <Button onClick={() => setToken(undefined)}>{t.close}</Button>}>
      {chat.status !== 'published' && <p className="m-0 text-soft">Publish the chat to see it here.</p>}
      {chat.status === 'published' && !framable && (
        <p className="m-0 text-soft">
          Sites that show a chat have https, or are on localhost. Open the console there{location.hostname === '127.0.0.1' && <>: <code>{local.origin}</code></>}.
        </p>
      )}
      {chat.status === 'published' && framable && !token && (
        <Button disabled={open.isPending} onClick={() => open.mutate()}>Show the chat as visitors see it</Button>
      )}
      <Problem error={open.error} />
      {token && (
        // oxlint-disable-next-line react/iframe-missing-sandbox -- the page is this server's, and calls it as such
        <iframe
          key={chat.revision} title="The chat as visitors see it" referrerPolicy="origin" style={{ colorScheme: scheme }}
          src={new URL(`embed/${token.token}#${new URLSearchParams({ scheme, lang: 'en' })}`, base).href}
          className="block h-96 w-full rounded-md border border-line"
        />
      )}
    </Card>
  )
}
