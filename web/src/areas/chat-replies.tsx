import type { ChatReply, ChatTemplate } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/chats'
import { Card, fieldErrors, Loading, Problem } from '../ui/basics'
import { Form, Input, Select, TextArea } from '../ui/form'
import { ShownError } from '../ui/shown-error'
import { Transcripts } from './chat-transcripts'

const kinds: Record<string, ChatReply['kind']> = { reply_endpoint: 'http', openai_compatible: 'openai_compatible' }

/** Reads the values of variables; none if nothing is typed. */
function variablesOf(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch { /* it is no JSON */ }
  throw new ShownError(words.variablesAreAnObject)
}

/** What replies to the visitors of a chat. */
export function Replies({ chat }: { chat: ChatTemplate }) {
  const workspace = useWorkspace()
  const reply = chat.reply ?? { kind: 'none' as const }
  const [chosen, setChosen] = useState(reply.connection_id ?? '')
  const connections = useQuery({
    queryKey: ['connections', workspace, 'all'], queryFn: () => firstPage(atrium.connections.list({ limit: 100 }, { workspace })),
  })
  const all = connections.data?.data.filter((c) => kinds[c.kind] && (c.status !== 'revoked' || c.id === reply.connection_id)) ?? []
  const kind = kinds[all.find((c) => c.id === chosen)?.kind ?? ''] ?? (chosen === '' ? 'none' : reply.kind)
  const save = useMutation({
    mutationFn: async (v: Record<string, string>) => {
      const variables = kind === 'none' ? undefined : variablesOf(v.variables ?? '')
      const next: ChatReply = kind === 'none' ? { kind } : {
        kind, connection_id: chosen, ...(kind === 'openai_compatible' && { model: v.model ?? '' }),
        ...(variables && { variables }), visitor_variables: (v.visitor_variables ?? '').split(/[\s,]+/).filter(Boolean),
        show_reasoning: v.reasoning === 'yes', ask_feedback: v.feedback === 'yes',
      }
      return atrium.chatTemplates.update(chat.id, { reply: next }, { workspace, ifMatch: chat })
    },
    onSuccess: () => queries.invalidateQueries(),
  })
  const wrong = fieldErrors(save.error)
  if (connections.isPending) return <Loading />
  return (
    <>
      <Card title={words.replies}>
        <p className="mt-0 text-soft">{words.repliesComeFrom}</p>
        <Problem error={connections.error} />
        <Form send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)} saves>
          <Select
            name="connection" label={words.connectionThatReplies} value={chosen} onChange={(e) => setChosen(e.target.value)} error={wrong.connection_id}
            choices={[
              { value: '', label: words.noReplies }, ...all.map((c) => ({ value: c.id, label: c.name })),
              ...(chosen !== '' && !all.some((c) => c.id === chosen) ? [{ value: chosen, label: chosen }] : []),
            ]}
          />
          {kind === 'openai_compatible' && (
            <Input name="model" label={words.model} required maxLength={128} defaultValue={reply.model ?? ''} error={wrong.model} />
          )}
          {kind !== 'none' && (
            <>
              <TextArea
                name="variables" label={words.valuesOfVariables} hint={words.asAJsonObject}
                defaultValue={reply.variables ? JSON.stringify(reply.variables, null, 2) : ''} error={wrong.variables}
              />
              <Input
                name="visitor_variables" label={words.variablesOfVisitors} hint={words.yourServerSignsTheirValues}
                defaultValue={reply.visitor_variables?.join(' ') ?? ''} error={wrong.visitor_variables}
              />
              <Select
                name="reasoning" label={words.whatTheModelThinks} defaultValue={reply.show_reasoning ? 'yes' : 'no'} hint={words.itIsCollapsed}
                choices={[{ value: 'no', label: words.visitorsDoNotSeeIt }, { value: 'yes', label: words.visitorsCanOpenIt }]}
              />
              <Select
                name="feedback" label={words.ratingsOfReplies} defaultValue={reply.ask_feedback ? 'yes' : 'no'} hint={words.theyCountForTheVersion}
                choices={[{ value: 'no', label: words.visitorsCannotRate }, { value: 'yes', label: words.visitorsCanRate }]}
              />
            </>
          )}
          <Problem error={save.error} />
        </Form>
      </Card>
      <div className="mt-4"><Transcripts chat={chat} /></div>
    </>
  )
}
