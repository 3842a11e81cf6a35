package picture

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"strings"
)

//go:embed page.css
var pageCSS string // allowed: embed writes only to a variable

// HTML returns a picture as one page that loads nothing: the machine with the box in
// it, and between the two what passes. There is no script in it. clean makes control characters
// of a text visible; nil does nothing.
func HTML(p Picture, clean func(string) string) []byte {
	h := page{clean: clean}
	h.b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n" + pageCSS + "</style>")
	h.put("<title>inner: %s</title></head><body>\n<h1>%s</h1>\n<p>%s</p>\n", p.Profile.Name,
		p.Profile.Name, p.Profile.Description)
	if r := p.Refused; r != nil {
		h.put("<div class=\"refused\"><span class=\"bad\">it does not start here:</span> %s<br><small>%s</small></div>\n", r.Why, r.Hint)
	}
	h.put("<dl>\n")
	for _, f := range p.about() {
		class := ""
		if f.alarm {
			class = "bad"
		}
		h.put("<dt>%s</dt><dd class=\"%s\">%s</dd>\n", f.name, class, f.text)
	}
	h.put("</dl>\n<div class=\"machine\">\n<div class=\"head\">your machine</div><div></div><div class=\"box head\">the box</div>\n")
	for _, g := range p.Groups {
		h.put("<div class=\"left\"><h2>%s</h2></div><div></div><div class=\"box\"></div>\n", g.Title)
		for _, r := range g.Rows {
			h.row(r)
		}
	}
	h.put("<div></div><div></div><div class=\"box foot\"></div>\n</div>\n" +
		"<footer>⇄ the box can change or use it · → it can read it · ○ it has its own · ✕ it does not pass</footer>\n</body></html>\n")
	return h.b.Bytes()
}

// page builds a page: put writes HTML of this file, and its texts escaped.
type page struct {
	b     bytes.Buffer
	clean func(string) string
}

func (h *page) put(format string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, s := range texts {
		if h.clean != nil {
			s = h.clean(s)
		}
		escaped[i] = html.EscapeString(strings.ReplaceAll(s, "\x00", "\ufffd"))
	}
	fmt.Fprintf(&h.b, format, escaped...)
}

// row shows a row: what the box has of its own in the box, all else on the machine.
func (h *page) row(r Row) {
	way := string(r.Way)
	gate := map[Way]string{Open: "⇄", Seen: "→", Own: "○", Shut: "✕", Note: ""}[r.Way]
	outside, inside := r.Things, []Thing(nil)
	if r.Way == Own {
		outside, inside = nil, r.Things
	}
	h.put("<div class=\"left %s\">", way)
	h.things(outside)
	h.put("</div><div class=\"gate %s\" aria-hidden=\"true\">%s</div><div class=\"box %s\"><span class=\"word\">%s</span> <small>%s</small>", way, gate, way, r.Word, r.From)
	h.things(inside)
	h.put("</div>\n")
}

func (h *page) things(list []Thing) {
	h.put("<ul>")
	for _, t := range told(list) {
		note := t.Why
		if t.Count > 0 {
			note = strings.TrimSuffix(fmt.Sprintf("places: %d, %s", t.Count, t.Why), ", ")
		}
		h.put("<li><code>%s</code> <small>%s</small></li>", t.Text, note)
	}
	h.put("</ul>")
}
