// In the order of the names below.
const names = ['write', 'send', 'stop', 'retry', 'copy', 'copied', 'typing', 'you', 'open', 'close', 'clear', 'starters', 'loading', 'refused', 'log', 'fresh', 'failed', 'slow', 'long', 'many', 'daily', 'offline', 'stopped', 'reasoning', 'empty', 'interrupted', 'helpful', 'unhelpful', 'recorded']
const texts = {
  en: ['Write a message', 'Send', 'Stop', 'Try again', 'Copy', 'Copied', 'Writing…', 'You', 'Open chat', 'Close chat', 'Clear', 'Ways to begin', 'Loading…', 'This chat is not available.', 'Messages', 'New message', 'The chat cannot answer at the moment.', 'The answer took too long.', 'The answer is too long to show the rest of it.', 'Too many messages. Wait a moment.', 'This chat answers no more messages today.', 'There is no connection.', 'Stopped.', 'Reasoning', 'The chat did not find an answer.', 'The answer was interrupted.', 'Helpful', 'Not helpful', 'The operator of this site gets a copy of this conversation.'],
  de: ['Nachricht schreiben', 'Senden', 'Anhalten', 'Noch einmal', 'Kopieren', 'Kopiert', 'Schreibt …', 'Sie', 'Chat öffnen', 'Chat schließen', 'Leeren', 'Vorschläge', 'Lädt …', 'Dieser Chat ist nicht verfügbar.', 'Nachrichten', 'Neue Nachricht', 'Der Chat kann gerade nicht antworten.', 'Die Antwort hat zu lange gedauert.', 'Der Rest der Antwort ist zu lang.', 'Zu viele Nachrichten. Bitte warten Sie kurz.', 'Dieser Chat antwortet heute nicht mehr.', 'Keine Verbindung.', 'Angehalten.', 'Gedankengang', 'Der Chat hat keine Antwort gefunden.', 'Die Antwort wurde unterbrochen.', 'Hilfreich', 'Nicht hilfreich', 'Der Betreiber dieser Seite erhält eine Kopie dieses Gesprächs.'],
  fr: ['Écrire un message', 'Envoyer', 'Arrêter', 'Réessayer', 'Copier', 'Copié', 'Écrit…', 'Vous', 'Ouvrir le chat', 'Fermer le chat', 'Effacer', 'Pour commencer', 'Chargement…', 'Ce chat n’est pas disponible.', 'Messages', 'Nouveau message', 'Le chat ne peut pas répondre pour le moment.', 'La réponse a pris trop de temps.', 'La suite de la réponse est trop longue.', 'Trop de messages. Attendez un instant.', 'Ce chat ne répond plus aujourd’hui.', 'Pas de connexion.', 'Arrêté.', 'Raisonnement', 'Le chat n’a pas trouvé de réponse.', 'La réponse a été interrompue.', 'Utile', 'Pas utile', 'L’exploitant de ce site reçoit une copie de cette conversation.'],
  es: ['Escribe un mensaje', 'Enviar', 'Detener', 'Reintentar', 'Copiar', 'Copiado', 'Escribiendo…', 'Tú', 'Abrir el chat', 'Cerrar el chat', 'Borrar', 'Para empezar', 'Cargando…', 'Este chat no está disponible.', 'Mensajes', 'Mensaje nuevo', 'El chat no puede responder en este momento.', 'La respuesta tardó demasiado.', 'El resto de la respuesta es demasiado largo.', 'Demasiados mensajes. Espera un momento.', 'Este chat no responde más mensajes hoy.', 'No hay conexión.', 'Detenido.', 'Razonamiento', 'El chat no encontró una respuesta.', 'La respuesta se interrumpió.', 'Útil', 'No es útil', 'El operador de este sitio recibe una copia de esta conversación.'],
  it: ['Scrivi un messaggio', 'Invia', 'Ferma', 'Riprova', 'Copia', 'Copiato', 'Sta scrivendo…', 'Tu', 'Apri la chat', 'Chiudi la chat', 'Cancella', 'Per iniziare', 'Caricamento…', 'Questa chat non è disponibile.', 'Messaggi', 'Nuovo messaggio', 'Al momento la chat non può rispondere.', 'La risposta ha richiesto troppo tempo.', 'Il resto della risposta è troppo lungo.', 'Troppi messaggi. Attendi un momento.', 'Oggi questa chat non risponde più.', 'Nessuna connessione.', 'Fermato.', 'Ragionamento', 'La chat non ha trovato una risposta.', 'La risposta è stata interrotta.', 'Utile', 'Non utile', 'Il gestore di questo sito riceve una copia di questa conversazione.'],
  pt: ['Escreva uma mensagem', 'Enviar', 'Parar', 'Tentar de novo', 'Copiar', 'Copiado', 'Escrevendo…', 'Você', 'Abrir o chat', 'Fechar o chat', 'Limpar', 'Para começar', 'Carregando…', 'Este chat não está disponível.', 'Mensagens', 'Nova mensagem', 'O chat não pode responder agora.', 'A resposta demorou demais.', 'O resto da resposta é longo demais.', 'Mensagens demais. Aguarde um momento.', 'Este chat não responde mais hoje.', 'Sem conexão.', 'Parado.', 'Raciocínio', 'O chat não encontrou uma resposta.', 'A resposta foi interrompida.', 'Útil', 'Não é útil', 'O operador deste site recebe uma cópia desta conversa.'],
  nl: ['Schrijf een bericht', 'Versturen', 'Stoppen', 'Opnieuw', 'Kopiëren', 'Gekopieerd', 'Schrijft…', 'U', 'Chat openen', 'Chat sluiten', 'Wissen', 'Om te beginnen', 'Laden…', 'Deze chat is niet beschikbaar.', 'Berichten', 'Nieuw bericht', 'De chat kan nu niet antwoorden.', 'Het antwoord duurde te lang.', 'De rest van het antwoord is te lang.', 'Te veel berichten. Wacht even.', 'Deze chat antwoordt vandaag niet meer.', 'Geen verbinding.', 'Gestopt.', 'Redenering', 'De chat heeft geen antwoord gevonden.', 'Het antwoord is onderbroken.', 'Nuttig', 'Niet nuttig', 'De beheerder van deze site krijgt een kopie van dit gesprek.'],
  pl: ['Napisz wiadomość', 'Wyślij', 'Zatrzymaj', 'Ponów', 'Kopiuj', 'Skopiowano', 'Pisze…', 'Ty', 'Otwórz czat', 'Zamknij czat', 'Wyczyść', 'Na początek', 'Ładowanie…', 'Ten czat jest niedostępny.', 'Wiadomości', 'Nowa wiadomość', 'Czat nie może teraz odpowiedzieć.', 'Odpowiedź trwała zbyt długo.', 'Reszta odpowiedzi jest za długa.', 'Za dużo wiadomości. Poczekaj chwilę.', 'Ten czat dziś już nie odpowiada.', 'Brak połączenia.', 'Zatrzymano.', 'Rozumowanie', 'Czat nie znalazł odpowiedzi.', 'Odpowiedź została przerwana.', 'Pomocna', 'Niepomocna', 'Operator tej strony otrzymuje kopię tej rozmowy.'],
  ar: ['اكتب رسالة', 'إرسال', 'إيقاف', 'أعد المحاولة', 'نسخ', 'تم النسخ', 'يكتب…', 'أنت', 'فتح المحادثة', 'إغلاق المحادثة', 'مسح', 'اقتراحات للبدء', 'جارٍ التحميل…', 'هذه المحادثة غير متاحة.', 'الرسائل', 'رسالة جديدة', 'لا يمكن للمحادثة الرد الآن.', 'استغرق الرد وقتًا طويلاً.', 'بقية الرد أطول من أن تُعرض.', 'رسائل كثيرة جدًا. انتظر لحظة.', 'لن ترد هذه المحادثة على مزيد من الرسائل اليوم.', 'لا يوجد اتصال.', 'تم الإيقاف.', 'التفكير', 'لم تجد المحادثة إجابة.', 'انقطع الرد.', 'مفيد', 'غير مفيد', 'يتلقى مشغّل هذا الموقع نسخة من هذه المحادثة.'],
  ja: ['メッセージを入力', '送信', '停止', '再試行', 'コピー', 'コピーしました', '入力中…', 'あなた', 'チャットを開く', 'チャットを閉じる', '消去', '質問の例', '読み込み中…', 'このチャットは利用できません。', 'メッセージ', '新しいメッセージ', '現在、チャットは回答できません。', '回答に時間がかかりすぎました。', '回答が長すぎるため、残りを表示できません。', 'メッセージが多すぎます。少しお待ちください。', '本日はこれ以上回答できません。', '接続がありません。', '停止しました。', '思考過程', '回答が見つかりませんでした。', '回答が中断されました。', '役に立った', '役に立たなかった', 'このサイトの運営者は、この会話の写しを受け取ります。'],
}
const rightToLeft = ['ar']
const wordsFor = (named) => {
  const wanted = named || document.documentElement.lang || navigator.language || ''
  const lang = [wanted, document.documentElement.lang, ...navigator.languages || []].map((l) => (l || '').toLowerCase().split('-')[0])
    .find((l) => texts[l]) || 'en'
  return { wanted, lang, dir: rightToLeft.includes(lang) ? 'rtl' : 'ltr', ...Object.fromEntries(names.map((n, i) => [n, texts[lang][i]])) }
}

// What a chat says in a language: a translation for it, for all its regions or for another region; otherwise itself.
const translated = (template, wanted) => {
  const [tag, base] = [wanted.toLowerCase(), wanted.toLowerCase().split('-')[0]]
  const find = (match) => template.translations?.find(({ language }) => match(language.toLowerCase()))
  const found = find((l) => l === tag) || find((l) => l === base) || find((l) => l.split('-')[0] === base)
  return {
    lang: found?.language || '',
    greeting: found?.greeting || template.greeting,
    starters: found?.conversation_starters?.length ? found.conversation_starters : template.conversation_starters,
  }
}

// Why there is no answer, in words.
const reasons = {
  reply_timeout: 'slow', reply_too_large: 'long', reply_empty: 'empty', rate_limited: 'many', daily_replies_reached: 'daily',
  unreachable: 'offline', stopped: 'stopped', interrupted: 'interrupted',
}

const refusal = (words) => make('p', { role: 'status', textContent: words.refused })
