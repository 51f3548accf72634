# Writes test/unit/homeassistant/slugs.json: the slugs that Home Assistant makes of names, with the library that it uses.
#   pip install python-slugify==8.0.4 text-unidecode==1.3
#   python3 test/support/writeSlugs.py > test/unit/homeassistant/slugs.json
import json
import unicodedata

from slugify import slugify

NAMES = """
Bathroom|Łazienka|Kuchnia główna|Żółw|Dźwięk|L’entrée|L'entrée|Bjørn|Ærø|Þórshöfn|Straße 5|Öl- & Wärmeraum|Garçonnière
Œuvre|Čajovna|Đorđe|İzmir|Iğdır|Țuică|Ħamrun|Ŋaŋa|Smørrebrød|Kjøkken|Mälzerei|Ванная|Кухня № 2|Объект|Семья|Щётка
Київ|Їжак|Ґанок|Мінск, 3|Ћуприја|Љубљана|Софиѝ|Μπάνιο|Κήπος 2ος|Ψυγείο|1,5 kW|Haus 1,2 m²|Zähler №7|½ Bad|Bad (Süd)
20 °C|5 € am Tag|3 £|§ 5|© Ann|4×4|Bad 🛁 oben|🚿|☀ Wintergarten|Ann’s “quoted” room|l'eau d'été|Rock 'n' Roll|-|_|__a__b__
tab\tand\nline|Ａｂｃ１２３|Ⅳ. Stock|ﬁnal|…|a…b|a–b—c|Søren & Åse|ÅNGSTRÖM|ʻOkina|non\u00adbreaking|zero\u200dwidth|x²y³
"""

BLOCKS = [(0x20, 0x24F), (0x300, 0x362), (0x370, 0x3FF), (0x400, 0x52F), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x20A0, 0x20C0)]


def slug(text):
    """As homeassistant.util.slugify."""
    return slugify(text, separator="_") or "unknown"


characters = [
    chr(code) for low, high in BLOCKS for code in range(low, high + 1) if unicodedata.category(chr(code)) != "Cn"
]
names = [name for line in NAMES.strip().split("\n") for name in line.split("|")]
table = {
    "names": {name: slug(name) for name in names},
    "characters": {character: slug(f"x{character}y") for character in characters},
}
print(json.dumps(table, indent=0))
