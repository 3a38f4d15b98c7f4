"""Helpers of the tests of xml, shared with other tests."""

RSS = b"""<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand --><?xml-stylesheet href="feed.xsl"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:itunes="http://itunes.example/dtd">
<channel>
  <atom:link href="http://news.example/self" rel="self"/>
  <title>All &amp; news</title><link>https://news.example/</link><language>en</language>
  <image><title>A logo</title><url>/logo.png</url></image>
  <item><itunes:title>Sound</itunes:title><title><![CDATA[One <b>& only</b>]]></title><link>/1</link>
    <pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate><guid isPermaLink="false">g1</guid><enclosure url="/1.mp3"/></item>
  <item><title>Two</title><link>/2</link><Title>upper</Title></item>
</channel></rss>"""


ATOM = b"""<?xml version='1.0'?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://media.example/">
<title>Feed</title><subtitle>About it</subtitle><updated>2026-11-01T00:00:00Z</updated>
<link href="/here" rel="alternate"/><author><name>Ann</name></author>
<entry><title>First</title><link href="/a"/><media:thumbnail url="/a.png"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Text</p></div></content></entry>
<entry><title>Second</title><link href="/b"/></entry></feed>"""


SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>http://news.example/1</loc><lastmod>2026-11-01</lastmod><image:image><image:loc>http://i/1</image:loc></image:image></url>
<url><loc>http://news.example/2</loc></url></urlset>"""
