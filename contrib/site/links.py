"""Print the links of a built site that lead nowhere, one a line: links.py FOLDER."""

import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.ids.add(value)
            if key in ("href", "src") and value:
                self.links.append(value)

root, pages = sys.argv[1], {}
for folder, _, names in os.walk(root):
    for name in names:
        if name.endswith(".html"):
            page = Page()
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                page.feed(f.read())
            pages[os.path.join(folder, name)] = page
for at, page in sorted(pages.items()):
    for link in page.links:
        u = urllib.parse.urlsplit(link)
        if u.scheme or u.netloc or at.endswith("404.html"):
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(at), urllib.parse.unquote(u.path))) if u.path else at
        if os.path.isdir(to):
            to = os.path.join(to, "index.html")
        if not os.path.exists(to) or u.fragment and to in pages and urllib.parse.unquote(u.fragment) not in pages[to].ids:
            print(f"{os.path.relpath(at, root)}: {link} leads nowhere")
