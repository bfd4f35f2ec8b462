import type { ChatTemplate, ChatTranslation } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, Card, fieldErrors, Problem } from '../ui/basics'
import { Form, Input, TextArea } from '../ui/form'

/** The most translations of a chat. */
const most = 20

/** What visitors read in other languages: the greeting and the conversation starters. */
export function Languages({ chat }: { chat: ChatTemplate }) {
  const workspace = useWorkspace()
  const [list, setList] = useState(() => (chat.translations ?? []).map((translation, key) => ({ key, translation })))
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.update(chat.id, {
      translations: list.map(({ key }): ChatTranslation => ({
        language: (v[`${key}.language`] ?? '').trim(), greeting: v[`${key}.greeting`] ?? '',
        conversation_starters: (v[`${key}.conversation_starters`] ?? '').split('\n').map((s) => s.trim()).filter(Boolean),
      })),
    }, { workspace, ifMatch: chat }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['chat', chat.id] }),
  })
  const add = () => setList((now) => [...now, { key: Math.max(-1, ...now.map((x) => x.key)) + 1, translation: { language: '' } }])
  return (
    <Card title={words.languages}>
      <p className="mt-0 text-soft">{words.visitorsReadTheirLanguage}</p>
      <Form
        saves send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)}
        more={<Button disabled={list.length >= most} onClick={add}>{words.addALanguage}</Button>}
      >
        {list.map(({ key, translation }, i) => {
          const wrong = fieldErrors(save.error, (pointer) => pointer.startsWith(`/translations/${i}/`))
          return (
            <fieldset key={key} className="m-0 mb-3 rounded-lg border border-line p-3">
              <legend className="px-1 font-medium">{translation.language || words.newLanguage}</legend>
              <Input
                name={`${key}.language`} label={words.languageTag} required maxLength={35} placeholder={words.exampleLanguage} hint={words.aTagSuchAs}
                defaultValue={translation.language} error={wrong.language}
              />
              <TextArea
                name={`${key}.greeting`} label={words.greeting} rows={2} maxLength={2000} defaultValue={translation.greeting ?? ''}
                error={wrong.greeting}
              />
              <TextArea
                name={`${key}.conversation_starters`} label={words.conversationStarters} hint={words.oneInEachLine}
                defaultValue={translation.conversation_starters?.join('\n') ?? ''} error={wrong.conversation_starters}
              />
              <Button tone="quiet" onClick={() => setList((now) => now.filter((x) => x.key !== key))}>
                {words.removeTheLanguage(translation.language)}
              </Button>
            </fieldset>
          )
        })}
        <Problem error={save.error} />
      </Form>
    </Card>
  )
}
