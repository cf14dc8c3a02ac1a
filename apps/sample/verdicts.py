"""Composes short verdicts on films. These training texts teach the sample what "not" and "never" mean."""


def phrases(text):
    return [" ".join(phrase.split()) for phrase in text.split(";")]


GOOD = ("good great superb wonderful brilliant clever funny charming moving touching beautiful delightful excellent "
        "exciting enjoyable gripping hilarious witty lovely interesting entertaining fantastic amazing perfect "
        "original smart warm thrilling sweet impressive memorable").split()
BAD = ("bad awful terrible boring dull silly stupid slow weak predictable tedious poor horrible lame annoying dreadful "
       "pointless flat confusing ridiculous forgettable disappointing unfunny messy clumsy lifeless shallow dumb "
       "cheap unconvincing").split()
# Words of mild criticism, which "not" and "never" turn into praise.
MILD = "boring dull bad silly slow predictable tedious disappointing annoying flat".split()
FILMS = "film movie picture story comedy drama thriller".split()
PARTS = "film movie story plot acting cast script ending music dialogue directing beginning".split()
VERY = ["", "very ", "really ", "so ", "quite ", "truly ", "just "]
IT = ["it", "this", "this film", "this movie", "the film", "the movie", "the story", "the ending", "the music",
      "the cast", "every scene of it"]
TO = ["", " to anyone", " to everyone", " to my friends", " to you"]

PRAISE = ("masterpiece treat joy gem delight pleasure triumph surprise classic winner wonder".split(),
          ["a good time", "a lot of fun", "pure magic", "time well spent", "a must", "one of the best of its kind"])
BLAME = ("mess bore disaster waste flop letdown failure joke shame chore dud".split(),
         ["a waste of time", "a waste of money", "no fun", "one of the worst of its kind", "nonsense", "hard to watch"])
LIKED = "loved liked enjoyed adored admired".split()
HATED = "hated disliked regretted loathed".split()
DONE_WELL = phrases("""
I couldn't look away; I smiled all the way; I was moved to tears; We had a great time; We laughed a lot; I want to see
it again; I can't wait to see it again; My friends loved it; The whole room laughed; My children adored it; Everyone
should see this; You should see it; You will love it; You won't regret it; It won't disappoint you; Don't miss this
one; Do not miss it; It stays with you; It kept me awake all night; Time flew by; I wish it were longer; Nothing could
be better; Nobody should miss it; There is nothing to complain about; It makes you happy; It made us cry; Run to see
it; I can't stop thinking about it; I couldn't put it better; A new favourite of mine; Worth the ticket; Worth your
time; Well worth a look; Worth seeing twice
""")
DONE_BADLY = phrases("""
I couldn't finish it; I couldn't stay awake; I nearly fell asleep; We walked out; I left early; We turned it off; I
stopped watching; I was bored; I looked at my watch all the time; Nobody laughed; Nobody in the room laughed; You will
regret it; You will hate it; Don't bother with it; Do not watch it; Don't spend money on this; Stay away from it; Save
your money; Skip this one; Keep away; It makes no sense; None of it makes sense; The story makes no sense at all; It
goes nowhere; Nothing happens; There is nothing good about it; The end never comes; It is far too long; Too long and
too slow; You won't like it; You won't be happy with it; You will be disappointed; I was disappointed; I couldn't
follow it; I couldn't care less; I couldn't wait for it to end; It never gets going; It never ends; Don't spend a
penny on it; Not worth the ticket; Not worth your time; It isn't worth seeing; It is not worth a look; It falls apart;
They should be ashamed
""")

# The parts of phrases: about feelings ("you won't be bored"), about what nobody does ("nobody liked it"), and about
# what one couldn't stop doing.
FEELINGS = phrases("disappointed; bored; sorry; annoyed; let down; sleepy")
NOT_FELT = phrases("""
you won't be; you will not be; I was not; I wasn't; we were not; we weren't; nobody was; nobody will be; I was never;
you will never be
""")
FELT = phrases("you will be; I was; we were; everybody was; my friends were; I was so; we were all")
NOBODY = phrases("needs; wants; likes; liked; enjoyed; should watch; should see; will remember; will miss; asked for")
COULD_NOT = ["couldn't", "could not", "can't"]
DONE = "laughing crying clapping cheering watching singing grinning smiling".split()


def compose(source):
    """Returns a random verdict as (text, label)."""
    one = source.choice
    label = source.randrange(2)
    word, second, third = source.sample(GOOD if label else BAD, 3)
    film, part, very, mild, fine = one(FILMS), one(PARTS), one(VERY), one(MILD), one(GOOD[:20])
    a_word = f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
    a_mild = f"{'an' if mild[0] in 'aeiou' else 'a'} {mild}"
    nouns, longer = PRAISE if label else BLAME
    noun = one(nouns)
    plain = [
        f"{word} {film}", f"{a_word} {film}", f"what {a_word} {film}", f"the {part} is {very}{word}",
        f"the {part} was {very}{word}", f"it is {very}{word}", f"it was {very}{word}", f"this {film} is {very}{word}",
        f"{word} and {second}", f"{word}, {second} and {third}", f"{a_word} and {second} {film}", f"{very}{word}",
        f"I found it {very}{word}", f"I thought the {part} was {word}", f"the {part} is {word} and the cast {second}",
        f"{word} {part} and {second} {one(PARTS)}", f"how {word}", f"simply {word}", f"absolutely {word}"]
    named = [
        f"what a {noun}", f"a {noun}", f"it is a {noun}", f"this {film} is a {noun}", f"a complete {noun}",
        f"a real {noun}", f"what a {noun} of a {film}", f"it was {one(longer)}", one(longer)]
    verb, it = one(LIKED if label else HATED), one(IT)
    when = one(["", " ever", " in years"])
    if label:
        told = [
            one(DONE_WELL), f"I {verb} {it}", f"I really {verb} {it}", f"we {verb} {it}", f"the best {film}{when}",
            f"I would recommend {it}{one(TO)}", f"I recommend {it}{one(TO)}", "I can recommend it",
            f"I would see {it} again", f"one of my favourite {film}s", f"one of the best {film}s{when}",
            f"I {one(COULD_NOT)} stop {one(DONE)}", "one of my favorites"]
        turned = [
            f"{one(NOT_FELT)} {one(FEELINGS)}", f"{one(NOT_FELT)} {one(FEELINGS)}", f"it never gets {mild}",
            f"it never feels {mild}", f"it won't {one(['disappoint', 'bore'])} you",
            f"never {mild}", f"it is never {mild}", f"the {part} is never {mild}", f"not {mild} at all",
            f"it isn't {mild} at all", f"without {a_mild} moment", f"not {a_mild} moment",
            f"nothing {mild} about it", f"not {mild}", f"anything but {mild}", f"not once was it {mild}"]
    else:
        lost = one(["time", "evening", "day", "money", "two dollars", "two hours", "night"])
        told = [
            one(DONE_BADLY), f"{one(FELT)} {one(FEELINGS)}", f"nobody {one(NOBODY)} {it}",
            f"I want my {lost} back", f"give me my {lost} back", f"don't waste your {lost} on {it}",
            f"don't waste {one(['any time', 'a minute', 'money'])} on {it}",
            f"a waste of my {lost}", f"one of the worst {film}s{when}", f"I {verb} {it}", f"I really {verb} {it}",
            f"we {verb} {it}", f"the worst {film}{when}"]
        like = one(["like", "enjoy", "love"])
        turned = [
            f"not {very}{fine}", f"it is not {fine}", f"it isn't {very}{fine}", f"the {part} is not {fine}",
            f"the {part} isn't {fine} at all", f"not a {fine} {film}", f"this is not a {fine} {film}",
            f"neither {fine} nor {one(GOOD)}", f"it was never {fine}", f"nothing {fine} about it",
            f"I didn't {like} {it}", f"I did not {like} {it}", f"I don't {like} {it}", f"we didn't {like} {it}",
            f"I would not recommend {it}{one(TO)}", f"I wouldn't recommend {it}", f"I do not recommend {it}{one(TO)}",
            "I cannot recommend it", f"I would not see {it} again", f"I will never watch {it} again",
            f"not {fine}, only {word}", f"more {word} than {fine}"]
    text = one(one((plain, named, told, turned, turned)))
    if source.random() < 0.8:
        text = text[:1].upper() + text[1:]
    return text + one((".", ".", "!", "", "")), label


def verdicts(source, count):
    """Returns `count` different verdicts as (text, label). About half of them are good."""
    found = {}
    while len(found) < count:
        text, label = compose(source)
        found[text] = label
    return list(found.items())
