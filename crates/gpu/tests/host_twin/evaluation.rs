//! Rows of A and B against the sum they stand for.

use blstrs::Scalar;
use cuzk_device_host::{Placement, Shapes, factor};
use ff::Field;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{of_scalar, of_scalars};

const N_INPUTS: usize = 5;
const HEADER_AUX: usize = 20;
const BLOCK_AUX: usize = 40;
const N_IMPORTS: usize = 7;

/// Where a variable is, with indices that are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Own(Index),
    Import(Index),
    HeaderInput(Index),
    BlockInput(Index),
}

fn place() -> impl Strategy<Value = Place> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Place::Own),
        index().prop_map(Place::Import),
        index().prop_map(Place::HeaderInput),
        index().prop_map(Place::BlockInput),
    ]
}

/// Mostly the values whose products are not computed.
fn scalar() -> impl Strategy<Value = Scalar> {
    let random = any::<[u64; 2]>().prop_map(|[a, b]| Scalar::from(a) * Scalar::from(b));
    prop_oneof![select(vec![Scalar::ZERO, Scalar::ONE, -Scalar::ONE]), random]
}

proptest! {
    #[test]
    fn factors_are_sums_of_products(
        w in proptest::collection::vec(scalar(), N_INPUTS + HEADER_AUX + BLOCK_AUX),
        coefficients in proptest::collection::vec(scalar(), 1..6),
        imports in proptest::collection::vec(0..HEADER_AUX as u32, N_IMPORTS),
        lists in proptest::collection::vec(proptest::collection::vec((place(), any::<Index>()), 0..12), 1..8),
        base in 0..BLOCK_AUX,
    ) {
        // One input is the header's, the others are the block's.
        let (first_aux, first_input) = (N_INPUTS + HEADER_AUX, 1);
        let mut shapes = Shapes { terms: vec![], ends: vec![], coefficients: of_scalars(&coefficients) };
        let mut expected = vec![];
        for list in &lists {
            let mut sum = Scalar::ZERO;
            for (place, coefficient) in list {
                let (tag, index, variable) = match place {
                    Place::Own(index) => {
                        let back = index.index(base + 1);
                        (0, back, first_aux + base - back)
                    }
                    Place::Import(index) => {
                        let slot = index.index(N_IMPORTS);
                        (1, slot, N_INPUTS + imports[slot] as usize)
                    }
                    Place::HeaderInput(index) => (2, index.index(1), index.index(1)),
                    Place::BlockInput(index) => {
                        let input = index.index(N_INPUTS - first_input);
                        (3, input, first_input + input)
                    }
                };
                let coefficient = coefficient.index(coefficients.len());
                sum += w[variable] * coefficients[coefficient];
                shapes.terms.push(tag << 62 | (index as u64) << 32 | coefficient as u64);
            }
            shapes.ends.push(shapes.terms.len() as u32);
            expected.push(sum);
        }
        let placement = Placement {
            first_aux: first_aux as u64,
            first_input: first_input as u64,
            header_aux: N_INPUTS as u64,
        };
        let w = of_scalars(&w);
        for (list, expected) in expected.iter().enumerate() {
            prop_assert_eq!(factor(&w, &imports, &placement, &shapes, list, base as u32), of_scalar(expected));
        }
    }
}
