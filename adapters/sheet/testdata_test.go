package sheet_test

// flat is a document as OpenDocument has it in one file: a title over merged cells, a header, rows
// with dates, money, percents, a formula, a comment and a link, and a tab that is hidden.
const flat = `<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
<office:automatic-styles>
<number:date-style style:name="N1"><number:year number:style="long"/><number:text>-</number:text><number:month number:style="long"/><number:text>-</number:text><number:day number:style="long"/></number:date-style>
<number:percentage-style style:name="N2"><number:number number:decimal-places="1" number:min-integer-digits="1"/><number:text>%</number:text></number:percentage-style>
<number:number-style style:name="N3"><number:number number:decimal-places="2" number:min-integer-digits="1" number:grouping="true"/></number:number-style>
<style:style style:name="date" style:family="table-cell" style:data-style-name="N1"/>
<style:style style:name="percent" style:family="table-cell" style:data-style-name="N2"/>
<style:style style:name="money" style:family="table-cell" style:data-style-name="N3"/>
<style:style style:name="hidden" style:family="table"><style:table-properties table:display="false"/></style:style>
</office:automatic-styles>
<office:body><office:spreadsheet>
<table:table table:name="Customers">
<table:table-row><table:table-cell table:number-columns-spanned="5" office:value-type="string"><text:p>Customers of the year</text:p></table:table-cell><table:covered-table-cell table:number-columns-repeated="4"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Name</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Since</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Spent</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Discount</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Double</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><office:annotation><dc:creator>somebody</dc:creator><text:p>a comment</text:p></office:annotation><text:p>Ann <text:a xlink:href="https://example.com/">Lee</text:a></text:p></table:table-cell><table:table-cell table:style-name="date" office:value-type="date" office:date-value="2026-01-31"><text:p>2026-01-31</text:p></table:table-cell><table:table-cell table:style-name="money" office:value-type="float" office:value="1234.5"><text:p>1,234.50</text:p></table:table-cell><table:table-cell table:style-name="percent" office:value-type="percentage" office:value="0.125"><text:p>12.5%</text:p></table:table-cell><table:table-cell table:style-name="money" table:formula="of:=[.C3]*2"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Bøb</text:p></table:table-cell><table:table-cell table:style-name="date" office:value-type="date" office:date-value="2025-12-24"><text:p>2025-12-24</text:p></table:table-cell><table:table-cell table:style-name="money" office:value-type="float" office:value="2"><text:p>2.00</text:p></table:table-cell><table:table-cell/><table:table-cell table:style-name="money" table:formula="of:=[.C4]*2"/></table:table-row>
</table:table>
<table:table table:name="Secret" table:style-name="hidden"><table:table-row><table:table-cell office:value-type="string"><text:p>Word</text:p></table:table-cell></table:table-row></table:table>
</office:spreadsheet></office:body></office:document>`
