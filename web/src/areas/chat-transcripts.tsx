import type { ChatTemplate } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, usePermission, useWorkspace } from '../app/workspace'
import { words } from '../text/chats'
import { Button, Card, fieldErrors, Problem } from '../ui/basics'
import { Form, Select } from '../ui/form'

/** Which webhook gets what visitors ask and read. Admins choose it, and each manager can end it. */
export function Transcripts({ chat }: { chat: ChatTemplate }) {
  const workspace = useWorkspace()
  const manages = ['manager', 'owner'].includes(chat.my_role)
  const chooses = usePermission()('webhooks.manage') && manages
  const current = chat.transcripts?.webhook_id ?? ''
  const webhooks = useQuery({
    queryKey: ['webhooks', workspace, 'all'], queryFn: () => firstPage(atrium.webhooks.list({}, { workspace })), enabled: chooses,
  })
  const save = useMutation({
    mutationFn: (id: string) => atrium.chatTemplates.update(
      chat.id, { transcripts: id === '' ? null : { webhook_id: id } }, { workspace, ifMatch: chat },
    ),
    onSuccess: () => queries.invalidateQueries(),
  })
  const all = webhooks.data?.data ?? []
  return (
    <Card title={words.transcripts}>
      <p className="mt-0 text-soft">{words.whatTranscriptsSend}</p>
      {!chooses && <p>{current === '' ? words.noWebhookGetsThem : words.aWebhookGetsThem(current)}</p>}
      {!chooses && <p className="text-soft">{words.adminsChooseTheWebhook}</p>}
      {!chooses && manages && current !== '' && (
        <Button disabled={save.isPending} onClick={() => save.mutate('')}>{words.endTranscripts}</Button>
      )}
      {chooses && webhooks.data && (
        <Form send={words.saveTranscripts} busy={save.isPending} onSend={(v) => save.mutate(v.webhook_id ?? '')}>
          <Select
            name="webhook_id" label={words.webhookThatGetsThem} defaultValue={current} hint={words.visitorsAreTold}
            error={fieldErrors(save.error).webhook_id}
            choices={[
              { value: '', label: words.none }, ...all.map((w) => ({ value: w.id, label: w.description || w.url })),
              ...(current !== '' && !all.some((w) => w.id === current) ? [{ value: current, label: current }] : []),
            ]}
          />
        </Form>
      )}
      <Problem error={webhooks.error ?? save.error} />
    </Card>
  )
}
