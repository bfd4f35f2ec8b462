import { useRef, useState } from 'react'
import { upload } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { words } from '../text/sources'
import { Button, Problem } from '../ui/basics'

/** Takes a file that is dropped or chosen, and uploads it. onUploaded gets the URL of a location that names it. */
export function Upload({ onUploaded }: { onUploaded: (url: string) => void }) {
  const workspace = useWorkspace()
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const [percent, setPercent] = useState(0)
  const sending = useMutation({
    mutationFn: (file: File) => {
      setPercent(0)
      return upload(file, workspace, (bytes) => setPercent(Math.floor((bytes / file.size) * 100)))
    },
    onSuccess: (file) => onUploaded(file.url),
  })
  const send = (files: FileList | null) => {
    if (files?.[0] && !sending.isPending) sending.mutate(files[0])
  }
  return (
    <div
      className="mt-4 rounded-md border border-dashed border-edge p-4 text-center data-[over]:bg-hover" data-over={over ? '' : undefined}
      onDragOver={(e) => { e.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)}
      onDrop={(e) => { e.preventDefault(); setOver(false); send(e.dataTransfer.files) }}
    >
      <input
        ref={input} type="file" hidden aria-label={words.fileToUpload} accept=".csv,.tsv,.txt,.xlsx,.ods"
        onChange={(e) => { send(e.target.files); e.target.value = '' }}
      />
      <p className="m-0 mb-2">{words.dropAFile}</p>
      <Button disabled={sending.isPending} onClick={() => input.current?.click()}>{words.chooseAFile}</Button>
      <p className="m-0 mt-2 text-xs text-soft" aria-live="polite">{sending.isPending ? words.uploading(percent) : words.filesUpTo}</p>
      <Problem error={sending.error} />
    </div>
  )
}
