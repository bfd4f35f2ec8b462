package source

import "github.com/atrium-hq/atrium/domain/column"

// CommonTypes returns the types that most orgs need. An org without configured types has these.
func CommonTypes() []Type {
	both := []Backend{SheetBackend, WarehouseBackend}
	return []Type{
		{Key: "contacts", Title: "Contacts", Accepts: both, Fields: []column.Field{
			{Key: "email", Title: "E-mail", Type: column.Email, Required: true, Unique: true, Example: "ann@example.com",
				Synonyms: []string{"email address", "email id", "mail address", "user email", "work email", "business email", "correo", "correo electronico", "courriel", "adresse email", "indirizzo email", "login email"}},
			{Key: "first_name", Title: "First name", Type: column.String, Example: "Ann", Synonyms: []string{"given name", "forename", "first", "vorname", "prenom", "nombre", "nome"}},
			{Key: "last_name", Title: "Last name", Type: column.String, Example: "Lee", Synonyms: []string{"family name", "surname", "last", "nachname", "nom", "nom de famille", "apellido", "apellidos", "cognome"}},
			{Key: "full_name", Title: "Full name", Type: column.String, Example: "Ann Lee", Synonyms: []string{"name", "contact name", "display name", "contact", "person", "recipient", "recipient name"}},
			{Key: "phone", Title: "Phone", Type: column.String, Example: "+47 22 00 00 00",
				Synonyms: []string{"phone number", "phone no", "mobile", "mobile phone", "mobile number", "cell", "cell phone", "contact number", "work phone", "business phone", "work number", "telefon", "telefonnummer", "telefono", "handy"}},
			{Key: "company", Title: "Company", Type: column.String, Example: "Example Ltd",
				Synonyms: []string{"company name", "organisation", "organisation name", "account", "account name", "employer", "business name", "firma", "unternehmen", "entreprise", "societe", "empresa", "associated company"}},
			{Key: "job_title", Title: "Job title", Type: column.String, Example: "Engineer", Synonyms: []string{"title", "position", "role", "job", "job role", "job position", "funktion", "poste"}},
			{Key: "street", Title: "Street", Type: column.String, Example: "Elm Street 1",
				Synonyms: []string{"street address", "address", "address 1", "address line 1", "address line", "mailing street", "mailing address", "billing address", "billing address 1", "strasse", "straße", "adresse", "rue", "direccion"}},
			{Key: "city", Title: "City", Type: column.String, Example: "Oslo", Synonyms: []string{"town", "city name", "mailing city", "city town", "suburb", "locality", "ort", "stadt", "ville", "ciudad"}},
			{Key: "region", Title: "State or region", Type: column.String, Synonyms: []string{"state", "province", "state province", "state region", "province state", "mailing state", "mailing state province", "bundesland", "county", "province code"}},
			{Key: "postal_code", Title: "Postal code", Type: column.String, Example: "0150", Synonyms: []string{"zip", "zip postal code", "postcode", "mailing zip", "mailing zip postal code", "code postal", "codigo postal", "postleitzahl"}},
			{Key: "country", Title: "Country", Type: column.String, Example: "Norway", Synonyms: []string{"country region", "mailing country", "country code", "country name", "land", "pays", "pais"}},
			{Key: "website", Title: "Website", Type: column.URL, Example: "https://example.com", Synonyms: []string{"website url", "web", "web page", "url", "company website", "site web", "sitio web"}},
			{Key: "birthday", Title: "Birthday", Type: column.Date, Example: "1990-01-31", Synonyms: []string{"date of birth", "geburtstag", "geburtsdatum", "date de naissance"}},
			{Key: "notes", Title: "Notes", Type: column.Text, Synonyms: []string{"note", "comment", "comments", "remarks", "description", "notizen", "bemerkung", "bemerkungen"}},
			{Key: "created_at", Title: "Created", Type: column.DateTime, Example: "2026-01-31T12:00:00Z",
				Synonyms: []string{"create date", "created date", "date created", "created on", "creation date", "created time", "customer since", "signup date", "signed up", "signed up at", "registered", "registered at", "registration date", "joined", "subscribed at", "added", "added on", "date added", "erstellt am", "member since", "add time", "optin time"}},
		}},
		{Key: "faq", Title: "FAQ", Accepts: both, Fields: []column.Field{
			{Key: "question", Title: "Question", Type: column.Text, Required: true, Unique: true, Example: "How do I return an order?",
				Synonyms: []string{"q", "query", "article title", "title", "subject", "heading", "question text", "frage", "pregunta", "issue", "topic title"}},
			{Key: "answer", Title: "Answer", Type: column.Text, Required: true, Example: "Within 30 days, from your orders.",
				Synonyms: []string{"a", "response", "reply", "solution", "body", "content", "article body", "article content", "answer text", "resolution", "antwort", "réponse", "respuesta", "html body"}},
			{Key: "category", Title: "Category", Type: column.String, Example: "Orders", Synonyms: []string{"category name", "topic", "section", "section name", "group", "kategorie", "thema", "folder", "folder name", "collection", "department"}},
			{Key: "tags", Title: "Tags", Type: column.String, Synonyms: []string{"keywords", "label", "labels", "tag names", "label names", "schlagworte"}},
			{Key: "language", Title: "Language", Type: column.String, Example: "en", Synonyms: []string{"locale", "lang", "language code", "sprache", "langue", "source locale"}},
			{Key: "link", Title: "Link", Type: column.URL, Synonyms: []string{"article url", "html url", "permalink", "source url", "public url", "page url"}},
			{Key: "updated_at", Title: "Updated", Type: column.DateTime, Synonyms: []string{"last updated", "last modified", "modified", "modified on", "last edited", "last edited time", "edited at", "date updated", "updated on", "last update", "date modified", "aktualisiert"}},
		}},
		{Key: "products", Title: "Products", Accepts: both, Fields: []column.Field{
			{Key: "name", Title: "Name", Type: column.String, Required: true, Example: "Fountain pen",
				Synonyms: []string{"title", "product title", "item name", "item", "product", "bezeichnung", "artikelname", "nom", "nombre", "article name", "label"}},
			{Key: "sku", Title: "SKU", Type: column.String, Unique: true, Example: "PEN-001",
				Synonyms: []string{"variant sku", "item number", "item no", "product code", "product number", "article number", "part number", "mpn", "artikelnummer", "stock keeping unit", "reference", "item code", "model number", "internal reference"}},
			{Key: "price", Title: "Price", Type: column.Number, Example: "12.50",
				Synonyms: []string{"unit price", "variant price", "regular price", "sales price", "list price", "retail price", "selling price", "preis", "prix", "precio", "price amount", "net price"}},
			{Key: "currency", Title: "Currency", Type: column.String, Example: "EUR", Synonyms: []string{"currency code", "price currency", "waehrung", "währung", "devise"}},
			{Key: "description", Title: "Description", Type: column.Text,
				Synonyms: []string{"body", "body html", "long description", "details", "product details", "beschreibung", "descripción", "full description"}},
			{Key: "category", Title: "Category", Type: column.String, Synonyms: []string{"product category", "category name", "product type", "google product category", "type", "kategorie", "warengruppe", "collection", "custom product type"}},
			{Key: "brand", Title: "Brand", Type: column.String, Synonyms: []string{"vendor", "manufacturer", "brand name", "maker", "marke", "hersteller", "marque", "marca"}},
			{Key: "stock", Title: "In stock", Type: column.Integer, Example: "42",
				Synonyms: []string{"quantity", "inventory", "inventory quantity", "variant inventory quantity", "stock quantity", "stock level", "quantity on hand", "on hand", "available", "available quantity", "stock", "bestand", "lagerbestand", "current stock level"}},
			{Key: "url", Title: "URL", Type: column.URL, Synonyms: []string{"link", "product link", "product page", "permalink", "external url"}},
			{Key: "image_url", Title: "Image", Type: column.URL, Synonyms: []string{"image src", "image link", "images", "picture", "photo", "photo url", "main image", "product image url", "thumbnail", "bild", "image 1"}},
			{Key: "barcode", Title: "Barcode", Type: column.String, Synonyms: []string{"gtin", "ean", "upc", "isbn", "variant barcode", "gtin upc ean or isbn", "ean code"}},
			{Key: "weight", Title: "Weight", Type: column.Number, Synonyms: []string{"variant weight", "variant grams", "weight kg", "weight g", "shipping weight", "gewicht", "product weight", "poids"}},
			{Key: "active", Title: "Active", Type: column.Boolean, Synonyms: []string{"published", "enabled", "visible", "is active", "is visible", "available for sale", "in online store", "aktiv", "can be sold"}},
		}},
	}
}
