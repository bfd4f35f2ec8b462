import type { PromptFile, PromptImport } from '@atrium-hq/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useWorkspace } from '../app/workspace'
import { Button, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'

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
  return <><Button disabled={save.isPending} onClick={() => save.mutate()}>Export</Button><Problem error={save.error} /></>
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
    <Dialog open onClose={onClose} title="Import prompts">
      {send.data ? (
        <p role="status">{count('created')} created, {count('updated')} with a new version, {count('unchanged')} unchanged.</p>
      ) : (
        <Form send="Import" busy={send.isPending} onSend={(v) => send.mutate(v.activate === 'yes')}>
          <Input name="files" type="file" label="Files" multiple required accept=".json,.md" onChange={(e) => setFiles([...e.target.files ?? []])} hint="The file of an export, Markdown files of prompts, or an export of Langfuse." />
          <Select
            name="activate" label="New versions" hint="Prompts that include each other must become active."
            choices={[{ value: 'no', label: 'Stay drafts' }, { value: 'yes', label: 'Become active' }]}
          />
          <Problem error={send.error} />
        </Form>
      )}
    </Dialog>
  )
}
