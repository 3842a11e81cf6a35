package picture

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed page.css
var pageCSS string // allowed: embed writes only to a variable

// HTML returns a picture as one page that loads nothing: the machine with the box in
// it, and between the two what passes. There is no script in it. clean makes control characters
// of a text visible; nil does nothing.
func HTML(p Picture, clean func(string) string) []byte {
	h := page{clean: clean}
	h.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>inner: ")
	h.text(p.Profile.Name)
	h.raw("</title>\n<style>\n" + pageCSS + "</style></head><body>\n<h1>")
	h.text(p.Profile.Name)
	h.raw("</h1>\n<p>")
	h.text(p.Profile.Description)
	h.raw("</p>\n")
	h.refused(p.Refused)
	h.about(p)
	h.raw("<div class=\"machine\">\n<div class=\"head\">your machine</div><div></div><div class=\"box head\">the box</div>\n")
	for _, g := range p.Groups {
		h.group(g)
	}
	h.raw("<div></div><div></div><div class=\"box foot\"></div>\n</div>\n" +
		"<footer>⇄ the box can change or use it · → it can read it · ○ it has its own · ✕ it does not pass</footer>\n</body></html>\n")
	return h.b.Bytes()
}

// page builds a page: raw writes HTML of this file, and text everything else, escaped.
type page struct {
	b     bytes.Buffer
	clean func(string) string
}

func (h *page) raw(s string) { h.b.WriteString(s) }

func (h *page) text(s string) {
	if h.clean != nil {
		s = h.clean(s)
	}
	h.b.WriteString(escape(s))
}

// escape makes a text harmless between tags and in quotes.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\x00", "\ufffd").Replace(s)
}

func (h *page) refused(r *Refused) {
	if r == nil {
		return
	}
	h.raw("<div class=\"refused\"><span class=\"bad\">it does not start here:</span> ")
	h.text(r.Why)
	if r.Hint != "" {
		h.raw("<br><small>")
		h.text(r.Hint)
		h.raw("</small>")
	}
	h.raw("</div>\n")
}

func (h *page) about(p Picture) {
	h.raw("<dl>\n")
	for _, f := range p.about() {
		class := ""
		if f.alarm {
			class = "bad"
		}
		h.raw("<dt>" + f.name + "</dt><dd class=\"" + class + "\">")
		h.text(f.text)
		h.raw("</dd>\n")
	}
	h.raw("</dl>\n")
}

func (h *page) group(g Group) {
	h.raw("<div class=\"left\"><h2>")
	h.text(g.Title)
	h.raw("</h2></div><div></div><div class=\"box\"></div>\n")
	for _, r := range g.Rows {
		way := string(r.Way)
		gate := map[Way]string{Open: "⇄", Seen: "→", Own: "○", Shut: "✕", Note: ""}[r.Way]
		// What the box has of its own is in the box, all else is on the machine.
		h.raw("<div class=\"left " + way + "\">")
		if r.Way != Own {
			h.things(r.Things)
		}
		h.raw("</div><div class=\"gate " + way + "\" aria-hidden=\"true\">" + gate + "</div>")
		h.raw("<div class=\"box " + way + "\"><span class=\"word\">")
		h.text(r.Word)
		h.raw("</span>")
		if r.From != "" {
			h.raw(" <small>")
			h.text(r.From)
			h.raw("</small>")
		}
		if r.Way == Own {
			h.things(r.Things)
		}
		h.raw("</div>\n")
	}
}

func (h *page) things(list []Thing) {
	h.raw("<ul>")
	for _, t := range list {
		h.raw("<li><code>")
		h.text(t.Text)
		h.raw("</code>")
		if note := t.note(); note != "" {
			h.raw(" <small>")
			h.text(note)
			h.raw("</small>")
		}
		h.raw("</li>")
	}
	h.raw("</ul>")
}

// note returns what the page says behind a thing: how many places it has, and why it is listed.
func (t Thing) note() string {
	var parts []string
	switch {
	case t.Count == 1:
		parts = append(parts, "1 place")
	case t.Count > 1:
		parts = append(parts, fmt.Sprintf("%d places", t.Count))
	}
	if t.Why != "" {
		parts = append(parts, t.Why)
	}
	return strings.Join(parts, ", ")
}
