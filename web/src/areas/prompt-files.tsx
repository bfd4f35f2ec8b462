import type { PromptFile, PromptImport } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { Button, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { t } from '../text'
import { words } from '../text/prompts'

/** Saves all prompts that the user sees as one file, which can be imported. */
export function Export() {
  const workspace = useWorkspace()
  const save = useMutation({
    mutationFn: async () => {
      const files = await atrium.promptTemplates.exportFiles({}, { workspace })
      const link = document.createElement('a')
      link.href = URL.createObjectURL(new Blob([JSON.stringify(files)], { type: 'application/json' }))
      link.download = 'prompts.json'
      link.click()
      URL.revokeObjectURL(link.href)
    },
  })
  return <><Button disabled={save.isPending} onClick={() => save.mutate()}>{t.export}</Button><Problem error={save.error} /></>
}

/** What files of this machine bring: Markdown files of prompts, an export, or one of Langfuse. */
async function read(files: File[]): Promise<PromptImport> {
  const found: PromptFile[] = []
  for (const file of files) {
    const content = await file.text()
    if (file.name.endsWith('.md')) {
      found.push({ path: file.name, content })
      continue
    }
    const parsed: unknown = JSON.parse(content)
    if (Array.isArray(parsed)) return { langfuse: parsed as Record<string, unknown>[] }
    found.push(...(parsed as { files: PromptFile[] }).files)
  }
  return { files: found }
}

/** Imports prompts from files: all of them, or none. */
export function Import({ onClose }: { onClose: () => void }) {
  const workspace = useWorkspace()
  const [files, setFiles] = useState<File[]>([])
  const send = useMutation({
    mutationFn: async (activate: boolean) =>
      atrium.promptTemplates.importFiles(await read(files), { activate, visibility: 'workspace' }, { workspace }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['prompts'] }),
  })
  const count = (outcome: string) => send.data?.data.filter((p) => p.outcome === outcome).length
  return (
    <Dialog open onClose={onClose} title={words.importPrompts}>
      {send.data ? (
        <p role="status">{count('created')} {words.created} {count('updated')} {words.withANewVersion} {count('unchanged')} {words.unchanged}</p>
      ) : (
        <Form send={t.import} busy={send.isPending} onSend={(v) => send.mutate(v.activate === 'yes')}>
          <Input name="files" type="file" label={words.files} multiple required accept=".json,.md" onChange={(e) => setFiles([...e.target.files ?? []])} hint={words.theFileOfAn} />
          <Select
            name="activate" label={words.newVersions} hint={words.promptsThatIncludeEach}
            choices={[{ value: 'no', label: words.stayDrafts }, { value: 'yes', label: words.becomeActive }]}
          />
          <Problem error={send.error} />
        </Form>
      )}
    </Dialog>
  )
}
